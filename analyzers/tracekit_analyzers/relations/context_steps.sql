-- One row: a model step of the current traces with its context as the log tells it, in the order of traces and steps.
select trace_id, step_id, seq, agent, parent_step_id, context_digest, context_base, coalesce(context_keep, 0),
  coalesce(context_count, 0), coalesce(context_hashes, [])
from steps where context_digest is not null order by trace_id, seq;
