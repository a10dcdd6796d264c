-- One row: an argument of a tool as its good calls used it, with its types, its distinct values (at most 21) and how often it was there.
with good as (
  select tool_name, input from log.steps
  where kind = 'tool' and status = 'ok' and tool_name is not null and is_object(input)
), counts as (
  select tool_name, count(*) as n from good group by tool_name
), used as (
  select tool_name, member.key as key, coalesce(json_type(member.value), 'NULL') as type,
    case when json_type(member.value) = 'VARCHAR' and length(member.value) < 60 then member.value ->> '$' end as text
  from (select tool_name, unnest(members_of(input)) as member from good)
)
select tool_name, key, list(distinct type order by type) as types, count(*) as present, any_value(counts.n) as calls,
  approx_count_distinct(text) as distinct_texts, count(text) as texts,
  case when approx_count_distinct(text) <= 24 then list(distinct text order by text) filter (where text is not null) end as choices
from used join counts using (tool_name) group by tool_name, key order by tool_name, key;
