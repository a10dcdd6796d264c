-- One row: a step of the named traces as the choice of a primary verdict needs it.
select trace_id, step_id, seq, parent_step_id, kind, tool_name, status from steps
where trace_id in (select unnest($traces)) order by trace_id, seq;
