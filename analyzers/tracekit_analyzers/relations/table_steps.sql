-- One row: a step, with everything that is known of it, JSON as text, for tables and frames.
select * exclude (bucket, first_n, last_n) replace (cast(input as varchar) as input, cast(output as varchar) as output,
  cast(attributes as varchar) as attributes, cast(asked as varchar) as asked)
from log.steps order by trace_id, seq
