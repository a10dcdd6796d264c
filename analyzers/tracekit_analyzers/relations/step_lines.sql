-- One row: a step as the tree shows it, with its time as a share of the trace's time.
with wanted as (select unnest($steps) as step_id), span as (
  select epoch_us(started_at) as began, epoch_us(finished_at) as ended from log.traces where trace_id = $trace
)
select s.step_id, s.kind, s.name, s.tool_name, s.status, s.started_at, s.duration_ms,
  (select any_value(d.code order by d.is_primary desc, d.place) from diagnoses d
    where d.trace_id = s.trace_id and d.failed_step = s.step_id) as code,
  (select any_value(d.code order by d.is_primary desc, d.place) from diagnoses d
    where d.trace_id = s.trace_id and d.cause_step = s.step_id and d.failed_step is distinct from s.step_id) as cause_of,
  coalesce((epoch_us(s.started_at) - span.began) / nullif(span.ended - span.began, 0), 0) as start_share,
  coalesce((epoch_us(coalesce(s.finished_at, case when s.status = 'running' then to_timestamp(span.ended / 1e6)::timestamp end, s.started_at))
    - span.began) / nullif(span.ended - span.began, 0), 0) as end_share
from log.steps s join wanted using (step_id), span
where s.trace_id = $trace;
