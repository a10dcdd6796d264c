-- Makes `log.trace_rows`: one row is a line of the list of traces, with its primary diagnosis.
create or replace table log.trace_rows as
select t.trace_id, t.task_id, t.name, t.status, t.steps, t.finished_steps, d.failed_step, d.failed_seq, s.name as failed_name,
  d.code, d.confidence, t.cost, case when t.input_tokens is not null or t.output_tokens is not null
    then coalesce(t.input_tokens, 0) + coalesce(t.output_tokens, 0) end as tokens,
  t.started_at, (epoch_us(t.finished_at) - epoch_us(t.started_at)) / 1000.0 as duration_ms, t.file, t.trace_index, t.first_n
from log.traces t
left join diagnoses d on d.trace_id = t.trace_id and d.is_primary
left join log.steps s on s.trace_id = d.trace_id and s.step_id = d.failed_step
order by t.first_n;
