-- Makes `log.trace_rows` at a first look: one row is a trace with the little that can be told before its steps are put together.
create or replace table log.trace_rows as
with lines as (
  select trace_id, step_id, parent_step_id, task_id, kind, coalesce(name, tool_name, case kind when 'llm' then 'model' else kind end) as name, started_at, finished_at,
    coalesce(status, case when error_type is not null then 'error' else 'ok' end) as status,
    case when kind = 'task' then question_of(error_type, error_message) end as question, filename
  from read_json($files, format = 'newline_delimited', filename = true, ignore_errors = true, maximum_object_size = $line_limit, columns = {
    record: 'VARCHAR', trace_id: 'VARCHAR', step_id: 'VARCHAR', parent_step_id: 'VARCHAR', task_id: 'VARCHAR', kind: 'VARCHAR',
    name: 'VARCHAR', tool_name: 'VARCHAR', status: 'VARCHAR', error_type: 'VARCHAR', error_message: 'VARCHAR', started_at: 'VARCHAR', finished_at: 'VARCHAR'})
  where coalesce(record, 'step') = 'step' and trace_id is not null
), runs as (
  select trace_id, max(task_id) as task_id, count(distinct hash(step_id)) as steps,
    count(distinct hash(step_id)) filter (where finished_at is not null) as finished_steps,
    arg_min(name, started_at) filter (where parent_step_id is null) as root_name, arg_min(name, started_at) as first_name,
    arg_max(status, coalesce(finished_at, '')) filter (where parent_step_id is null and kind in ('task', 'agent')) as root_status,
    arg_max(status, coalesce(finished_at, started_at)) as last_status,
    -- A later attempt that began says that the question was answered.
    arg_max(question is not null, coalesce(finished_at, started_at)) filter (where kind = 'task') as asks,
    min(started_at) as first_time, max(coalesce(finished_at, started_at)) as last_time, min(filename) as file,
    list(distinct filename) as files
  from lines group by trace_id
), timed as (
  select *, as_time(first_time) as started_at, as_time(last_time) as finished_at from runs
)
select trace_id, task_id, coalesce(root_name, first_name, 'step') as name,
  case when coalesce(root_status, last_status) in ('ok', 'error') then coalesce(root_status, last_status)
    when asks then 'waiting' else 'unknown' end as status,
  steps, finished_steps,
  null::varchar as failed_step, null::bigint as failed_seq, null::varchar as failed_name, null::varchar as code,
  null::double as confidence, null::double as cost, null::bigint as tokens, started_at,
  (epoch_us(finished_at) - epoch_us(started_at)) / 1000.0 as duration_ms, file, files, 0 as trace_index,
  row_number() over (order by started_at, trace_id) as first_n
from timed;
