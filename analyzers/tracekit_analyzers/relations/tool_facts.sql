-- Makes `log.tool_times`: one row is a tool with how often it ran and how long its good calls took.
create or replace table log.tool_times as
with good as (
  select tool_name, median(duration_ms) as median_ms from log.steps
  where kind = 'tool' and status = 'ok' and tool_name is not null group by tool_name
)
select s.tool_name, count(*) as calls, count(*) filter (where s.status = 'ok') as good_calls, any_value(good.median_ms) as median_ms,
  median(abs(s.duration_ms - good.median_ms)) filter (where s.status = 'ok') as mad_ms
from log.steps s left join good using (tool_name)
where s.kind = 'tool' and s.tool_name is not null group by s.tool_name order by s.tool_name;
