-- Makes `log.steps`: one row is the last state of a step. Later lines win field by field, where they have the field, and in
-- `attributes` key by key; a line that tells the end wins over any that tells the start, since files are read in the order of
-- their names and a recovery may end in its own file what a killed process began in another.
create or replace table log.steps as
with bucket_lines as not materialized (
  -- By the range the engine skips the lines of other buckets; a copy of these lines would not fit into memory.
  select *, rowid as line_n from lines where rowid between $first_line and $last_line
), keys as (
  select * from step_keys where bucket = $bucket
), typed as (
  select k.*, as_time(coalesce(l.started_at, f.started_at)) as began, as_time(coalesce(l.finished_at, f.finished_at)) as ended,
    as_ms(coalesce(l.duration_ms, f.duration_ms)) as took_ms
  from keys k join bucket_lines l on l.line_n = k.last_n left join bucket_lines f on f.line_n = k.other_n
), timed as (
  select *,
    coalesce(began, try(ended - to_microseconds(cast(took_ms * 1000 as bigint)))) as started_at,
    coalesce(ended, try(began + to_microseconds(cast(took_ms * 1000 as bigint)))) as finished_at
  from typed
), filled as (
  -- A step without a time stands right after the line before it, and before all where no line before it has one.
  select *, coalesce(started_at, last_value(started_at ignore nulls) over (partition by trace_id order by first_n)) as order_at
  from timed
), numbered as (
  -- Numbered while the rows are narrow: sorting whole steps costs three times as much.
  select *, row_number() over (partition by trace_id order by order_at nulls first, first_n) as seq from filled
), folded as (
  -- Most steps are told once or twice, start and end: a join is four times as fast as an aggregate over all columns.
  select k.trace_id, k.step_id, k.first_n, k.last_n, k.seq, k.started_at, k.finished_at, k.took_ms,
    coalesce(l.parent_step_id, f.parent_step_id) as parent_step_id, coalesce(l.task_id, f.task_id) as task_id,
    coalesce(l.attempt, f.attempt) as attempt, coalesce(l.log_seq, f.log_seq) as log_seq, coalesce(l.kind, f.kind) as kind,
    coalesce(l.name, f.name) as name, coalesce(l.agent, f.agent) as agent, coalesce(l.tool_name, f.tool_name) as tool_name,
    coalesce(l.call_id, f.call_id) as call_id, coalesce(l.status, f.status) as status,
    coalesce(nothing_as_null(l.input_snapshot), nothing_as_null(f.input_snapshot)) as input,
    coalesce(nothing_as_null(l.output_snapshot), nothing_as_null(f.output_snapshot)) as output,
    coalesce(l.model_raw_output, f.model_raw_output) as raw, coalesce(l.model, f.model) as model,
    coalesce(l.finish_reason, f.finish_reason) as finish_reason,
    coalesce(nothing_as_null(l.context), nothing_as_null(f.context)) as context,
    coalesce(nothing_as_null(l.asked), nothing_as_null(f.asked)) as asked,
    coalesce(nothing_as_null(l.depends_on), nothing_as_null(f.depends_on)) as depends_on,
    coalesce(nothing_as_null(l.effect), nothing_as_null(f.effect)) as effect,
    coalesce(l.checkpoint, f.checkpoint) as checkpoint, coalesce(l.tries, f.tries) as tries,
    coalesce(l.reinfers, f.reinfers) as reinfers, coalesce(l.error_type, f.error_type) as error_type,
    coalesce(l.error_message, f.error_message) as error_message, coalesce(l.error_stack, f.error_stack) as error_stack,
    coalesce(nothing_as_null(l.usage), nothing_as_null(f.usage)) as usage,
    coalesce(nothing_as_null(l.tokens), nothing_as_null(f.tokens)) as tokens,
    coalesce(l.process_id, f.process_id) as process_id,
    coalesce(l.pid, f.pid) as pid, laid_over(nothing_as_null(f.attributes), nothing_as_null(l.attributes)) as attributes,
    l.file, l.source
  from numbered k join bucket_lines l on l.line_n = k.last_n
  left join bucket_lines f on f.line_n = case when k.told = 2 then k.other_n end
  where k.told <= 2
  union all
  select k.trace_id, k.step_id, any_value(k.first_n), any_value(k.last_n), any_value(k.seq), any_value(k.started_at),
    any_value(k.finished_at), any_value(k.took_ms),
    arg_max(parent_step_id, n), arg_max(task_id, n), arg_max(attempt, n), arg_max(log_seq, n), arg_max(kind, n),
    arg_max(name, n), arg_max(agent, n), arg_max(tool_name, n), arg_max(call_id, n), arg_max(status, n),
    arg_max(nothing_as_null(input_snapshot), n), arg_max(nothing_as_null(output_snapshot), n), arg_max(model_raw_output, n),
    arg_max(model, n), arg_max(finish_reason, n), arg_max(nothing_as_null(context), n), arg_max(nothing_as_null(asked), n),
    arg_max(nothing_as_null(depends_on), n), arg_max(nothing_as_null(effect), n), arg_max(checkpoint, n), arg_max(tries, n),
    arg_max(reinfers, n), arg_max(error_type, n), arg_max(error_message, n), arg_max(error_stack, n),
    arg_max(nothing_as_null(usage), n), arg_max(nothing_as_null(tokens), n), arg_max(process_id, n), arg_max(pid, n), laid_in_order(nothing_as_null(attributes), n),
    arg_max(file, n), arg_max(source, n)
  from numbered k join (
    select * exclude (trace_id, step_id), trace_id as said_trace, step_id as said_step,
      line_n + case when bucket_lines.finished_at is not null then 1::bigint << 50 else 0 end as n
    from bucket_lines where record = 'step'
  ) said on said_trace = k.trace_id and said_step = k.step_id
  where k.told > 2 group by k.trace_id, k.step_id
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
  try_cast(coalesce(coalesce(usage, tokens) ->> '$.input_tokens', coalesce(usage, tokens) ->> '$.input') as bigint) as input_tokens,
  try_cast(coalesce(coalesce(usage, tokens) ->> '$.output_tokens', coalesce(usage, tokens) ->> '$.output') as bigint) as output_tokens,
  try_cast(usage ->> '$.cost' as double) as cost,
  started_at, finished_at,
  coalesce(took_ms, try(epoch_us(finished_at) - epoch_us(started_at)) / 1000.0) as duration_ms,
  process_id, try_cast(pid as integer) as pid, coalesce(attributes, '{}'::json) as attributes, asked,
  file, coalesce(try_cast(source ->> '$.trace_index' as integer), 0) as trace_index,
  coalesce(try_cast(source ->> '$.line' as bigint), last_n - files.first_n + 1) as line,
  try_cast(source ->> '$.index' as bigint) as record_index, last_n, folded.first_n, $bucket as bucket
from folded left join log.files using (file);
