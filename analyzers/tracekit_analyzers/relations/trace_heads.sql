-- One row: a trace as a verdict names it, in the order of the log.
select trace_id, task_id, name, status, steps, file, trace_index from traces order by first_n, trace_id;
