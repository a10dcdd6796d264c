-- One row: a step of one run as a judge sees it.
select step_id, seq, parent_step_id, kind, name, agent, tool_name, status, cast(input as varchar) as input, output_text, raw,
  error_type, error_message
from log.steps where trace_id = $trace order by seq;
