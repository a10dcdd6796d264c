-- One row: a step with everything that is known of it.
select s.trace_id, s.agent, s.call_id, coalesce(c.asked_arguments, case when s.kind = 'tool' then s.raw end) as asked_arguments,
  cast(s.input as varchar) as input, s.output_text, s.raw, s.model, s.finish_reason,
  case when s.effect_risk is not null or s.effect_status is not null then cast(json_object(
    'risk', s.effect_risk, 'key', s.effect_key, 'status', s.effect_status, 'idempotent', s.effect_idempotent) as varchar) end as effect,
  s.error_type, s.error_message, s.error_stack, cast(s.attributes as varchar) as attributes, s.attempt, s.tries, s.input_tokens,
  s.output_tokens, s.cost, s.finished_at, s.file, s.trace_index, s.line, s.record_index
from log.steps s left join call_pairs c on c.trace_id = s.trace_id and c.step_id = s.step_id
where s.trace_id = $trace and s.step_id = $step
limit 1;
