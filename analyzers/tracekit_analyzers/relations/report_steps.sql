-- One row: a step that a report draws; $traces and $seqs name them pair by pair.
with wanted as (select distinct unnest($traces) as trace_id, unnest($seqs) as seq)
select s.trace_id, s.step_id, s.parent_step_id, s.seq, s.kind, coalesce(s.tool_name, s.name) as name, s.status,
  epoch_us(s.started_at) as started_us, s.duration_ms
from log.steps s join wanted using (trace_id, seq) order by s.trace_id, s.seq;
