-- Adds one row for each line of the files named by $files; every scalar is read as text, so that a wrong type is never a lost line.
insert into lines
select coalesce(record, case when step_id is not null or trace_id is not null then 'step' end), event, service, host, boot_id, pid, process_id, "at", hash, role, message, trace_id, step_id, parent_step_id,
  task_id, attempt, seq, kind, name, agent, tool_name, call_id, status, input_snapshot, output_snapshot, model_raw_output,
  model, finish_reason, context, asked, depends_on, effect, checkpoint, tries, reinfers, error_type, error_message,
  error_stack, usage, tokens, started_at, finished_at, duration_ms, attributes, count, reason, source,
  coalesce(source ->> '$.file', filename)
from read_json($files, format = 'newline_delimited', filename = true, maximum_object_size = $line_limit, columns = {
  record: 'VARCHAR', event: 'VARCHAR', service: 'VARCHAR', host: 'VARCHAR', boot_id: 'VARCHAR', pid: 'VARCHAR',
  process_id: 'VARCHAR', "at": 'VARCHAR', hash: 'VARCHAR', role: 'VARCHAR', message: 'JSON', trace_id: 'VARCHAR',
  step_id: 'VARCHAR', parent_step_id: 'VARCHAR', task_id: 'VARCHAR', attempt: 'VARCHAR', seq: 'VARCHAR', kind: 'VARCHAR',
  name: 'VARCHAR', agent: 'VARCHAR', tool_name: 'VARCHAR', call_id: 'VARCHAR', status: 'VARCHAR', input_snapshot: 'JSON',
  output_snapshot: 'JSON', model_raw_output: 'VARCHAR', model: 'VARCHAR', finish_reason: 'VARCHAR', context: 'JSON',
  asked: 'JSON', depends_on: 'JSON', effect: 'JSON', checkpoint: 'VARCHAR', tries: 'VARCHAR', reinfers: 'VARCHAR',
  error_type: 'VARCHAR', error_message: 'VARCHAR', error_stack: 'VARCHAR', usage: 'JSON', tokens: 'JSON',
  started_at: 'VARCHAR', finished_at: 'VARCHAR', duration_ms: 'VARCHAR', attributes: 'JSON', count: 'VARCHAR',
  reason: 'VARCHAR', source: 'JSON'});
