-- One row: a context that steps of other traces build on.
select context_digest, any_value(context_base order by last_n), any_value(coalesce(context_keep, 0) order by last_n),
  any_value(coalesce(context_hashes, []) order by last_n)
from log.steps where context_digest in (select unnest($digests)) group by context_digest order by context_digest;
