-- One row: where a step stands in its trace and in its file.
with wanted as (select unnest($traces) as trace_id, unnest($steps) as step_id)
select s.trace_id, s.step_id, s.seq, s.file, s.trace_index, s.line, s.record_index, s.tool_name
from steps s join wanted using (trace_id, step_id) order by s.trace_id, s.seq;
