-- One row: a model step whose context lacks messages of the call before it, though no summary stands in their place.
WITH cut AS (
  SELECT c.trace_id, c.step_id, c.seq, c.previous_step, c.kept, c.added, c.dropped
  FROM context_changes c
  WHERE len(c.dropped) > 0 AND c.kept > 0
    -- With another system prompt it is a call for another purpose, not the same talk going on.
    AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.trace_id = c.trace_id AND m.role IN ('system', 'developer') AND list_contains(c.dropped, m.hash))
), summed AS (
  SELECT DISTINCT c.trace_id, c.step_id
  FROM cut c JOIN messages m ON m.trace_id = c.trace_id AND list_contains(c.added, m.hash)
  WHERE m.role IN ('system', 'user', 'developer') AND regexp_matches(lower(left(m.text, 400)), 'summar|compact|condens|conversation so far|earlier messages')
  UNION
  -- The agent did it on purpose, in a step of its own.
  SELECT c.trace_id, c.step_id FROM cut c JOIN steps p ON p.trace_id = c.trace_id AND p.step_id = c.previous_step
  JOIN steps b ON b.trace_id = c.trace_id AND b.seq > p.seq AND b.seq < c.seq
  WHERE b.kind NOT IN ('model', 'tool') AND b.status = 'ok' AND regexp_matches(lower(b.name), 'summari[sz]|compact|condens|trim|prune')
), later_kept AS (
  SELECT c.trace_id, c.step_id, max(m.pos) AS pos
  FROM cut c JOIN steps p ON p.trace_id = c.trace_id AND p.step_id = c.previous_step
  JOIN messages m ON m.trace_id = c.trace_id AND m.role NOT IN ('system', 'developer') AND (
    m.seq <= p.seq AND NOT list_contains(c.dropped, m.hash)
    -- The reply of the call before goes on from all that it was sent; an agent that goes back drops it with the rest.
    OR m.role = 'assistant' AND list_contains(c.added, m.hash) AND (m.record_index = p.record_index OR m.text <> '' AND m.text = p.raw))
  GROUP BY c.trace_id, c.step_id
), lost AS (
  SELECT c.trace_id, c.step_id, c.previous_step, c.kept, count(*) AS missing,
    list(fact(c.previous_step, 'was sent then: ' || m.role || ' message ' || m.pos, NULL, m.text) ORDER BY m.pos)[:6] AS shown
  FROM cut c JOIN messages m ON m.trace_id = c.trace_id AND list_contains(c.dropped, m.hash)
  JOIN steps p ON p.trace_id = c.trace_id AND p.step_id = c.previous_step
  JOIN later_kept k ON k.trace_id = c.trace_id AND k.step_id = c.step_id
  -- Another system prompt, or a prompt that stood at the end for one call only, is another question and no loss.
  WHERE m.role NOT IN ('system', 'developer') AND m.pos < k.pos
    -- An agent that goes back to an earlier point drops the reply of the call before with the rest: nothing is lost.
    AND NOT EXISTS (SELECT 1 FROM messages reply WHERE reply.trace_id = c.trace_id AND reply.role = 'assistant'
      AND (reply.record_index = p.record_index OR reply.text <> '' AND reply.text = p.raw) AND NOT list_contains(c.added, reply.hash))
    -- What comes back was left out of a side call only.
    AND NOT EXISTS (SELECT 1 FROM context_changes again WHERE again.trace_id = c.trace_id AND again.seq > c.seq AND list_contains(again.added, m.hash))
  GROUP BY c.trace_id, c.step_id, c.previous_step, c.kept
)
SELECT l.trace_id, l.step_id AS failed_step, l.step_id AS cause_step, sure('context.truncated/dropped') AS confidence,
  'context.truncated/dropped' AS rule,
  l.missing || ' message(s) of the model call before are gone and no summary stands in their place' AS message,
  l.shown || [fact(l.step_id, 'was sent without them; ' || l.kept || ' messages kept', NULL, NULL)] AS evidence
FROM lost l ANTI JOIN summed s ON s.trace_id = l.trace_id AND s.step_id = l.step_id
ORDER BY l.trace_id, failed_step;
