-- One row: what a step was asked with, received and answered, each at most $most characters; $traces and $steps name them pair by pair.
with wanted as (select distinct unnest($traces) as trace_id, unnest($steps) as step_id)
select s.trace_id, s.step_id, s.kind, left(s.raw, $most) as raw, left(cast(s.input as varchar), $most) as input,
  left(s.output_text, $most) as output, left(concat_ws(': ', s.error_type, s.error_message), $most) as error
from log.steps s join wanted using (trace_id, step_id) order by s.trace_id, s.step_id;
