-- Makes `step_keys`: one row says where in `lines` a step is told, and to which of $buckets buckets of whole traces it goes.
-- A bucket holds traces that stand near each other, so that its lines are one short range of the row ids. The few traces
-- whose lines lie far apart (a recovery in another file) go into buckets of their own: they would make every range long.
create or replace temp table step_keys as
with placed_lines as (
  select trace_id, step_id, rowid as line_n,
    rowid + case when finished_at is not null then 1::bigint << 50 else 0 end as n
  from lines where record = 'step'
), keys as (
  select trace_id, step_id, min(line_n) as first_n, max(line_n) as highest_n, arg_max(line_n, n) as last_n,
    arg_min(line_n, n) as other_n, count(*) as told
  from placed_lines group by 1, 2
), spans as (
  select trace_id, min(first_n) as begins, sum(told) as told,
    (max(highest_n) - min(first_n)) * $buckets > sum(sum(told)) over () as far
  from keys group by 1
), placed as (
  select trace_id, told, sum(told) over () as told_in_all,
    sum(told) over (order by far, begins rows unbounded preceding) - told as told_before from spans
), buckets as (
  select trace_id, cast(dense_rank() over (order by told_before * $buckets // told_in_all) - 1 as integer) as bucket
  from placed
)
select keys.*, bucket from keys join buckets on keys.trace_id is not distinct from buckets.trace_id order by bucket;
