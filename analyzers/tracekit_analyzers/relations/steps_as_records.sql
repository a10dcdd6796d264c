-- One row: a step of an exported relation `steps` as a line of a log tells it; what the relation takes out of an object goes back.
select 'step' as record, trace_id, step_id, parent_step_id, task_id, attempt, kind, name, agent, tool_name, call_id, status,
  input as input_snapshot, output as output_snapshot, raw as model_raw_output, model, finish_reason,
  case when context_digest is not null then {'digest': context_digest, 'base': context_base, 'keep': context_keep,
    'count': context_count, 'complete': context_complete, 'tokens': context_tokens, 'hashes': context_hashes} end as context,
  asked, depends_on,
  case when effect_risk is not null or effect_status is not null then {'risk': effect_risk, 'key': effect_key,
    'status': effect_status, 'idempotent': effect_idempotent} end as effect,
  checkpoint, tries, reinfers, error_type, error_message, error_stack,
  {'input_tokens': input_tokens, 'output_tokens': output_tokens, 'cost': cost} as usage,
  started_at, finished_at, duration_ms, process_id, pid, attributes,
  {'trace_index': trace_index, 'line': line, 'index': record_index} as source
from stored
