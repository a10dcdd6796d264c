-- One row: a trace as a verdict names it, in the order of the log.
select trace_id, task_id, name, status, steps, file, trace_index, started_at,
  (epoch_us(finished_at) - epoch_us(started_at)) / 1000.0 as duration_ms,
  case when input_tokens is not null or output_tokens is not null
    then coalesce(input_tokens, 0) + coalesce(output_tokens, 0) end as tokens, cost,
  case status when 'waiting' then question end as question
from traces order by first_n, trace_id;
