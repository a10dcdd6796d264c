-- One row: a model step whose context lacks messages of the call before it, though no summary stands in their place.
WITH cut AS (
  SELECT c.trace_id, c.step_id, c.seq, c.previous_step, c.kept, c.added, c.dropped
  FROM context_changes c
  WHERE len(c.dropped) > 0 AND c.kept > 0
), summed AS (
  SELECT DISTINCT c.trace_id, c.step_id
  FROM cut c JOIN messages m ON m.trace_id = c.trace_id AND list_contains(c.added, m.hash)
  WHERE m.role IN ('system', 'user', 'developer') AND regexp_matches(lower(left(m.text, 400)), 'summar|compact|condens|conversation so far|earlier messages')
), lost AS (
  SELECT c.trace_id, c.step_id, c.previous_step, c.kept, count(*) AS missing,
    list(fact(c.previous_step, 'was sent then: ' || m.role || ' message ' || m.pos, NULL, m.text) ORDER BY m.pos)[:6] AS shown
  FROM cut c JOIN messages m ON m.trace_id = c.trace_id AND list_contains(c.dropped, m.hash)
  GROUP BY c.trace_id, c.step_id, c.previous_step, c.kept
)
SELECT l.trace_id, l.step_id AS failed_step, l.step_id AS cause_step, sure('context.truncated/dropped') AS confidence,
  'context.truncated/dropped' AS rule,
  l.missing || ' message(s) of the model call before are gone and no summary stands in their place' AS message,
  l.shown || [fact(l.step_id, 'was sent without them; ' || l.kept || ' messages kept', NULL, NULL)] AS evidence
FROM lost l ANTI JOIN summed s ON s.trace_id = l.trace_id AND s.step_id = l.step_id
ORDER BY l.trace_id, failed_step;
