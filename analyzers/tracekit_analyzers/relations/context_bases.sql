-- One row: a context that builds on another one, and that other one, in the trace that first told the context $digest.
select context_digest, context_base
from log.steps
where context_keep > 0 and context_base is not null
  and trace_id = (select arg_min(trace_id, last_n) from log.steps where context_digest = $digest)
order by last_n desc;
