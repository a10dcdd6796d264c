-- One row: an argument of a tool step with the best place where its value was seen before, and what a later answer said there.
with best as (
  select *, row_number() over (partition by path order by exact desc, origin_side = 'output' desc, origin_seq desc, origin_path, origin_side desc) as choice
  from origins where step_id = $step
), received as (
  select path, value from leaves where step_id = $step and side in ('input', 'user') and type <> 'token'
)
select r.path, r.value, b.origin_step, b.origin_seq, b.origin_side, b.origin_path,
  (select arg_max(newer.value, newer.seq) from leaves newer
    join steps there on there.step_id = newer.step_id join steps origin on origin.step_id = b.origin_step
    where newer.side = 'output' and newer.path = b.origin_path and there.tool_name = origin.tool_name
      and cast(there.input as varchar) = cast(origin.input as varchar) and newer.seq > b.origin_seq
      and newer.seq < (select seq from steps where step_id = $step) and newer.value <> r.value) as newer_value
from received r left join best b on b.path = r.path and b.choice = 1
order by r.path;
