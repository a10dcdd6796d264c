-- Makes `cleanliness`: one row is a step and why one may not go on after it; null `why` for a clean one.
-- A step that wraps others is not judged itself: it is still open or failed only because of what it wraps.
create or replace view cleanliness as
with wrappers as (
  select distinct trace_id, parent_step_id as step_id from steps where parent_step_id is not null
), unmet as (
  select distinct d.trace_id, d.step_id from (select trace_id, step_id, unnest(depends_on) as needs from steps where len(depends_on) > 0) d
  join steps s on s.trace_id = d.trace_id and s.step_id = d.needs and s.status in ('error', 'unknown', 'running')
)
select s.trace_id, s.step_id, s.seq, s.kind, s.name, s.tool_name, s.status, s.checkpoint, s.effect_risk, s.effect_status,
  s.effect_idempotent, s.input_tokens, s.output_tokens, s.duration_ms, w.step_id is not null and s.kind not in ('model', 'tool') as wraps,
  case
    when s.effect_status in ('executed_unknown', 'pending') then 'its effect has no known outcome'
    when s.status = 'running' then 'it was still running when the log ends'
    when s.status = 'unknown' then 'no answer came'
    when s.status = 'error' then 'it ended with an error' || coalesce(': ' || s.error_type, '')
    when s.status = 'abandoned' then 'its answer was not read to the end'
    when s.kind = 'tool' and s.status = 'ok' and s.output is null then 'its output is not in the log'
    when s.context_complete = false then 'its context is not complete'
    when u.step_id is not null then 'a step that it depends on did not end well'
  end as why
from steps s
left join wrappers w on w.trace_id = s.trace_id and w.step_id = s.step_id
left join unmet u on u.trace_id = s.trace_id and u.step_id = s.step_id;
