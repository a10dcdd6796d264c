-- Makes the view `folded` over `narrow_lines`: one row is the last state of a step, by the rules of `steps.sql`: later lines win
-- field by field, and one that tells an end wins over any that does not. Steps that are told once are not even grouped.
create or replace temp table told_again as
with lines as (
  select trace_id, step_id, rowid as line_n, rowid + case when ended then 1::bigint << 50 else 0 end as n
  from narrow_lines where record = 'step'
), again as (
  select hash(trace_id, step_id) as key from lines group by key having count(*) > 1
)
select trace_id, step_id, arg_max(line_n, n) as last_n, arg_min(line_n, n) as other_n, count(*) as told
from lines where hash(trace_id, step_id) in (select key from again) group by trace_id, step_id having count(*) > 1;

create or replace view folded as
select *, coalesce(began, try(ended_at - to_microseconds(cast(took_ms * 1000 as bigint)))) as started_at,
  coalesce(ended_at, try(began + to_microseconds(cast(took_ms * 1000 as bigint)))) as finished_at,
  cast(null as bigint) as seq, cast(null as bigint) as first_n, cast(null as bigint) as last_n
from (
  select trace_id, step_id, began, ended_at, took_ms, {once}
  from narrow_lines l anti join told_again using (trace_id, step_id) where record = 'step'
  union all
  select k.trace_id, k.step_id, coalesce(l.began, f.began), coalesce(l.ended_at, f.ended_at), coalesce(l.took_ms, f.took_ms), {twice}
  from told_again k join narrow_lines l on l.rowid = k.last_n join narrow_lines f on f.rowid = k.other_n where k.told = 2
  union all
  -- Times are those of the last line and of the first, as in `steps.sql`.
  select k.trace_id, k.step_id, coalesce(arg_max(began, n) filter (n = most), arg_min(began, n) filter (n = least)), 
    coalesce(arg_max(ended_at, n) filter (n = most), arg_min(ended_at, n) filter (n = least)),
    coalesce(arg_max(took_ms, n) filter (n = most), arg_min(took_ms, n) filter (n = least)), {often}
  from (
    select l.*, l.rowid + case when l.ended then 1::bigint << 50 else 0 end as n,
      max(n) over (partition by l.trace_id, l.step_id) as most, min(n) over (partition by l.trace_id, l.step_id) as least
    from narrow_lines l semi join (select trace_id, step_id from told_again where told > 2) using (trace_id, step_id)
    where l.record = 'step'
  ) k group by k.trace_id, k.step_id
);
