-- Makes `log.steps`: one row is the last state of a step. Later lines win field by field, where they have the field;
-- a line that tells the end wins over any that tells the start, since files are read in the order of their names and a
-- recovery may end in its own file what a killed process began in another.
create or replace table log.steps as
with said as (
  select rowid as line_n, rowid + case when finished_at is not null then 1::bigint << 50 else 0 end as n, *,
    case record when 'step' then coalesce(trace_id, md5(file)) end as trace,
    coalesce(step_id, left(md5(file || rowid), 16)) as step
  from lines where record = 'step'
), folded as (
  select trace as trace_id, step as step_id, min(line_n) as first_n, arg_max(line_n, n) as last_n,
    arg_max(parent_step_id, n) as parent_step_id, arg_max(task_id, n) as task_id, arg_max(attempt, n) as attempt,
    arg_max(log_seq, n) as log_seq, arg_max(kind, n) as kind, arg_max(name, n) as name, arg_max(agent, n) as agent,
    arg_max(tool_name, n) as tool_name, arg_max(call_id, n) as call_id, arg_max(status, n) as status,
    arg_max(nothing_as_null(input_snapshot), n) as input, arg_max(nothing_as_null(output_snapshot), n) as output,
    arg_max(model_raw_output, n) as raw, arg_max(model, n) as model, arg_max(finish_reason, n) as finish_reason,
    arg_max(nothing_as_null(context), n) as context, arg_max(nothing_as_null(asked), n) as asked,
    arg_max(nothing_as_null(depends_on), n) as depends_on, arg_max(nothing_as_null(effect), n) as effect,
    arg_max(checkpoint, n) as checkpoint, arg_max(tries, n) as tries, arg_max(reinfers, n) as reinfers,
    arg_max(error_type, n) as error_type, arg_max(error_message, n) as error_message, arg_max(error_stack, n) as error_stack,
    coalesce(arg_max(nothing_as_null(usage), n), arg_max(nothing_as_null(tokens), n)) as usage,
    arg_max(started_at, n) as started_at, arg_max(finished_at, n) as finished_at, arg_max(duration_ms, n) as duration_ms,
    arg_max(process_id, n) as process_id, arg_max(pid, n) as pid, arg_max(nothing_as_null(attributes), n) as attributes,
    arg_max(file, n) as file, arg_max(source, n) as source
  from said where ($bucket is null or hash(trace) % $buckets = $bucket) group by trace, step
), typed as (
  select * exclude (started_at, finished_at, duration_ms),
    as_time(started_at) as began, as_time(finished_at) as ended, as_ms(duration_ms) as took_ms
  from folded
), timed as (
  select *,
    coalesce(began, try(ended - to_microseconds(cast(took_ms * 1000 as bigint)))) as started_at,
    coalesce(ended, try(began + to_microseconds(cast(took_ms * 1000 as bigint)))) as finished_at
  from typed
), filled as (
  -- A step without a time stands right after the line before it.
  select *, coalesce(started_at, last_value(started_at ignore nulls) over (partition by trace_id order by first_n)) as order_at
  from timed
), placed as (
  select *, row_number() over (partition by trace_id order by order_at, first_n) as seq from filled
)
select trace_id, step_id, parent_step_id, seq, task_id, coalesce(try_cast(attempt as integer), 1) as attempt,
  case kind when 'llm' then 'model' else coalesce(kind, case when tool_name is not null then 'tool'
    when raw is not null and asked is not null then 'model' else 'step' end) end as kind,
  coalesce(name, tool_name, model, kind, 'step') as name, agent,
  coalesce(tool_name, case when kind = 'tool' then name end) as tool_name, call_id,
  coalesce(status, case when error_type is not null then 'error' when output is not null or finished_at is not null then 'ok'
    else 'unknown' end) as status,
  input, output, as_text(output) as output_text, raw, model, finish_reason,
  context ->> '$.digest' as context_digest, context ->> '$.base' as context_base,
  try_cast(context ->> '$.keep' as integer) as context_keep, try_cast(context ->> '$.count' as integer) as context_count,
  case when context is not null then coalesce(try_cast(context ->> '$.complete' as boolean), true) end as context_complete,
  try_cast(context ->> '$.tokens' as bigint) as context_tokens,
  try_cast(context -> '$.hashes' as varchar[]) as context_hashes,
  try_cast(depends_on as varchar[]) as depends_on,
  effect ->> '$.risk' as effect_risk, effect ->> '$.key' as effect_key, effect ->> '$.status' as effect_status,
  try_cast(effect ->> '$.idempotent' as boolean) as effect_idempotent,
  checkpoint, coalesce(try_cast(tries as integer), 1) as tries, coalesce(try_cast(reinfers as integer), 0) as reinfers,
  error_type, error_message, error_stack,
  try_cast(coalesce(usage ->> '$.input_tokens', usage ->> '$.input') as bigint) as input_tokens,
  try_cast(coalesce(usage ->> '$.output_tokens', usage ->> '$.output') as bigint) as output_tokens,
  try_cast(usage ->> '$.cost' as double) as cost,
  started_at, finished_at,
  coalesce(took_ms, try(epoch_us(finished_at) - epoch_us(started_at)) / 1000.0) as duration_ms,
  process_id, try_cast(pid as integer) as pid, coalesce(attributes, '{}'::json) as attributes, asked,
  file, coalesce(try_cast(source ->> '$.trace_index' as integer), 0) as trace_index,
  coalesce(try_cast(source ->> '$.line' as bigint), last_n - files.first_n + 1) as line,
  try_cast(source ->> '$.index' as bigint) as record_index, last_n, placed.first_n, hash(trace_id) % $buckets as bucket
from placed left join log.files using (file);
