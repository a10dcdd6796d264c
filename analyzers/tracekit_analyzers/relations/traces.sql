-- Makes `log.traces`: one row is a run. A run is killed when a step was open and its process is gone without a word.
-- The last attempt speaks for the run: what an earlier process left open has been taken up by a later one. A run whose task
-- ended with a question to a person waits for the answer; it has not failed.
create or replace table log.traces as
with attempts as (
  select trace_id, attempt as last_attempt, arg_min(status, seq) filter (where kind = 'task') as status,
    arg_min(coalesce(question_of(error_type, error_message), ''), seq) filter (where kind = 'task') as question
  from log.steps group by trace_id, attempt
  qualify row_number() over (partition by trace_id order by attempt desc) = 1
), open_steps as (
  select trace_id, bool_or(lost) as lost, bool_or(lost and attempt = last_attempt) as killed,
    bool_or(alive and attempt = last_attempt) as alive
  from (
    select s.trace_id, s.attempt, a.last_attempt, p.process_id is not null and p.alive as alive,
      (p.process_id is not null and p.exited_at is null and not p.alive) or coalesce(s.attributes ->> '$."tracekit.ended_by"' = 'killed', false) as lost
    from log.steps s join attempts a using (trace_id) left join processes p using (process_id) where s.status = 'running'
  ) group by trace_id
), tops as (
  select s.trace_id,
    coalesce(
      any_value(a.status) filter (where a.last_attempt > 1),
      arg_max(s.status, s.seq) filter (where s.kind in ('task', 'agent') and s.parent_step_id is null)) as root_status,
    any_value(a.question) as question,
    arg_min(s.name, s.seq) filter (where s.parent_step_id is null) as root_name,
    arg_max(s.status, s.seq) as last_status,
    arg_max(s.process_id, s.seq) as last_process
  from log.steps s join attempts a using (trace_id) group by s.trace_id
), sums as (
  select trace_id, max(task_id) as task_id, arg_min(name, seq) as first_name, count(*) as steps,
    count(*) filter (where status <> 'running') as finished_steps,
    arg_min(file, seq) as file, min(trace_index) as trace_index, min(started_at) as started_at,
    max(coalesce(finished_at, started_at)) as finished_at,
    -- A wrapper repeats the sum of what it wraps, so a run's tokens are those of its model steps, where these have any.
    coalesce(sum(input_tokens) filter (where kind = 'model'), max(input_tokens)) as input_tokens,
    coalesce(sum(output_tokens) filter (where kind = 'model'), max(output_tokens)) as output_tokens,
    coalesce(sum(cost) filter (where kind = 'model'), max(cost)) as cost, min(first_n) as first_n, any_value(bucket) as bucket
  from log.steps group by trace_id
)
select sums.trace_id, task_id, coalesce(root_name, first_name) as name,
  case when open_steps.alive then 'running' when root_status in ('unknown', 'error') and question <> '' then 'waiting'
    when open_steps.killed then 'killed'
    when root_status in ('error', 'ok') then root_status
    when root_status = 'abandoned' or root_status = 'unknown' or root_status = 'running' then 'unknown'
    when last_status in ('error', 'unknown', 'running') then case last_status when 'error' then 'error' else 'unknown' end
    else 'ok' end as status,
  steps, finished_steps, sums.file, trace_index, sums.started_at, finished_at,
  case when open_steps.killed then 'killed' when open_steps.alive then 'open' when open_steps.lost then 'killed'
    when p.exited_at is not null then 'exit' end as ended_by,
  cast(input_tokens as bigint) as input_tokens, cast(output_tokens as bigint) as output_tokens, cost, nullif(question, '') as question, first_n, bucket
from sums left join tops using (trace_id) left join open_steps using (trace_id)
left join processes p on p.process_id = tops.last_process
order by first_n;
