-- One row: a step, with everything that is known of it, JSON as text, times with their zone, for tables and frames.
select * exclude (bucket, first_n, last_n) replace (cast(input as varchar) as input, cast(output as varchar) as output,
  cast(attributes as varchar) as attributes, cast(asked as varchar) as asked,
  started_at at time zone 'UTC' as started_at, finished_at at time zone 'UTC' as finished_at)
from log.steps order by trace_id, seq
