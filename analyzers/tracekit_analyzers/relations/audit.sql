-- One row: the counts over all steps by which a log is judged fit or not.
with orphans as (
  select count(*) as n from log.steps s anti join log.steps p on p.trace_id = s.trace_id and p.step_id = s.parent_step_id
  where s.parent_step_id is not null
)
select count(*) as steps, count(distinct trace_id) as traces,
  count(*) filter (where kind = 'model') as model_steps,
  count(*) filter (where kind = 'model' and (raw is not null or output is not null or asked is not null)) as model_raw,
  count(*) filter (where kind = 'tool') as tool_steps,
  count(*) filter (where kind = 'tool' and input is not null) as tool_received,
  -- A call that our own check refused never reached its tool.
  count(*) filter (where kind = 'tool' and (input is not null or error_type is distinct from 'tracekit.arguments.BadArguments')) as tool_reached,
  count(*) filter (where kind = 'tool' and raw is not null) as tool_asked,
  count(*) filter (where kind = 'model' and context_digest is not null) as contexts,
  count(*) filter (where kind = 'model' and context_complete) as complete_contexts,
  count(*) filter (where len(depends_on) > 0 or parent_step_id is not null) as dependent,
  count(*) filter (where kind = 'tool' and status = 'ok' and output is not null) as tool_outputs,
  count(*) filter (where kind = 'tool' and status = 'ok') as tool_ok,
  count(*) filter (where status in ('error', 'unknown')) as failed,
  count(*) filter (where status in ('error', 'unknown') and error_type is not null) as failed_typed,
  count(*) filter (where tries > 1) as retried,
  -- One that was booked is tried again only where it was refused or never sent, under its key, by its probe or by a person.
  count(*) filter (where tries > 1 and effect_risk is not null and effect_risk <> 'read' and not coalesce(effect_idempotent, false)
    and effect_key is null) as retried_effects,
  count(*) filter (where reinfers > 0) as reinferred,
  -- In a log of tracekit itself a tool that says nothing is a read by its declaration; other logs can't tell.
  count(*) filter (where kind = 'tool' and (effect_risk is not null or process_id is not null)) as risk_declared,
  count(*) filter (where kind = 'tool' and effect_risk not in ('read') and effect_key is not null) as effects_booked,
  count(*) filter (where kind = 'tool' and effect_risk not in ('read')) as effects,
  count(*) filter (where checkpoint is not null) as checkpointed,
  count(*) filter (where regexp_matches(lower(array_to_string(json_keys(attributes), ' ')), 'critical')) as critical_told,
  count(*) filter (where regexp_matches(lower(array_to_string(json_keys(attributes), ' ')), 'fallback')) as fallback_told,
  count(*) filter (where regexp_matches(lower(array_to_string(json_keys(attributes), ' ')), 'undo|compensat')) as undo_told,
  count(*) filter (where started_at is not null and (finished_at is not null or status = 'running')) as timed,
  any_value(orphans.n) as orphans
from log.steps, orphans;
