-- One row: a context that steps of other traces build on.
select context_digest, any_value(context_base order by last_n), any_value(context_keep order by last_n),
  any_value(context_hashes order by last_n)
from (
  select context_digest, context_base, coalesce(context_keep, 0) as context_keep, coalesce(context_hashes, []) as context_hashes, last_n
  from log.steps where context_digest in (select unnest($digests))
  union all
  select digest, null, 0, hashes, null from log.contexts_elsewhere where digest in (select unnest($digests))
) group by context_digest order by context_digest;
