-- One row: a model step whose context lacks messages of the call before it, though no summary stands in their place.
WITH changed AS (
  SELECT c.trace_id, c.step_id, c.seq, c.previous_step, c.kept, c.added, c.dropped, p.seq AS previous_seq, p.record_index, p.raw
  FROM context_changes c JOIN steps p ON p.trace_id = c.trace_id AND p.step_id = c.previous_step
  WHERE len(c.dropped) > 0 AND c.kept > 0
), gone AS (
  SELECT c.trace_id, c.step_id, m.hash, m.role, m.pos
  FROM (SELECT trace_id, step_id, unnest(dropped) AS hash FROM changed) c JOIN messages m ON m.trace_id = c.trace_id AND m.hash = c.hash
), cut AS (
  -- With another system prompt it is a call for another purpose, not the same talk going on.
  SELECT c.* FROM changed c ANTI JOIN gone g ON g.trace_id = c.trace_id AND g.step_id = c.step_id AND g.role IN ('system', 'developer')
), came AS (
  SELECT c.trace_id, c.step_id, m.role, m.pos, m.text, m.role = 'assistant' AND m.record_index = c.record_index AS at_its_place,
    m.role = 'assistant' AND m.text <> '' AND m.text = c.raw AS in_its_words
  FROM (SELECT trace_id, step_id, record_index, raw, unnest(added) AS hash FROM cut) c JOIN messages m ON m.trace_id = c.trace_id AND m.hash = c.hash
), made_short AS (
  -- The last step before each cut by which the agent did it on purpose.
  SELECT *, max(short_seq) OVER (PARTITION BY trace_id ORDER BY seq, short_seq IS NULL) AS last_short
  FROM (SELECT trace_id, step_id, seq, previous_seq, NULL AS short_seq FROM cut
    UNION ALL BY NAME SELECT trace_id, seq, seq AS short_seq FROM steps
    WHERE kind NOT IN ('model', 'tool') AND status = 'ok' AND regexp_matches(lower(name), 'summari[sz]|compact|condens|trim|prune')
      AND trace_id IN (SELECT trace_id FROM cut))
), summed AS (
  SELECT trace_id, step_id FROM came
  WHERE role IN ('system', 'user', 'developer') AND regexp_matches(lower(left(text, 400)), 'summar|compact|condens|conversation so far|earlier messages')
  UNION
  SELECT trace_id, step_id FROM made_short WHERE short_seq IS NULL AND last_short > previous_seq
), spoken AS (
  SELECT trace_id, hash, pos, seq, row_number() OVER (PARTITION BY trace_id ORDER BY pos) AS nth
  FROM messages WHERE role NOT IN ('system', 'developer') AND trace_id IN (SELECT trace_id FROM cut)
), heard AS (
  -- How many messages were known at the call before each cut; they are numbered as they became known.
  SELECT trace_id, step_id, known FROM (
    SELECT *, max(nth) OVER (PARTITION BY trace_id ORDER BY seq, nth IS NULL) AS known
    FROM (SELECT trace_id, step_id, previous_seq AS seq, NULL AS nth FROM cut UNION ALL BY NAME SELECT trace_id, seq, nth FROM spoken)
  ) WHERE nth IS NULL
), ends AS (
  -- The last of them that was kept: the one before those that were dropped from the end.
  SELECT h.trace_id, h.step_id, any_value(h.known) - count(g.nth) AS nth
  FROM heard h LEFT JOIN (
    SELECT g.trace_id, g.step_id, s.nth, row_number() OVER (PARTITION BY g.trace_id, g.step_id ORDER BY s.nth DESC) AS from_end
    FROM gone g JOIN spoken s ON s.trace_id = g.trace_id AND s.hash = g.hash
    JOIN heard h ON h.trace_id = g.trace_id AND h.step_id = g.step_id AND s.nth <= h.known
  ) g ON g.trace_id = h.trace_id AND g.step_id = h.step_id AND g.nth = h.known - g.from_end + 1
  GROUP BY h.trace_id, h.step_id
), later_kept AS (
  SELECT trace_id, step_id, max(pos) AS pos FROM (
    SELECT e.trace_id, e.step_id, s.pos FROM ends e JOIN spoken s ON s.trace_id = e.trace_id AND s.nth = e.nth
    UNION ALL
    -- The reply of the call before goes on from all that it was sent; an agent that goes back drops it with the rest.
    SELECT trace_id, step_id, pos FROM came WHERE at_its_place OR in_its_words
  ) GROUP BY trace_id, step_id
), replies AS (
  SELECT trace_id, record_index, text FROM messages WHERE role = 'assistant' AND trace_id IN (SELECT trace_id FROM cut)
), went_back AS (
  -- An agent that goes back to an earlier point drops the reply of the call before with the rest: nothing is lost.
  SELECT c.trace_id, c.step_id FROM cut c
  LEFT JOIN (SELECT trace_id, record_index, count(*) AS n FROM replies GROUP BY ALL) p ON p.trace_id = c.trace_id AND p.record_index = c.record_index
  LEFT JOIN (SELECT trace_id, text, count(*) AS n FROM replies WHERE text <> '' GROUP BY ALL) w ON w.trace_id = c.trace_id AND w.text = c.raw
  LEFT JOIN (
    SELECT trace_id, step_id, count(*) FILTER (at_its_place) AS placed, count(*) FILTER (in_its_words) AS worded FROM came GROUP BY ALL
  ) a ON a.trace_id = c.trace_id AND a.step_id = c.step_id
  WHERE coalesce(p.n, 0) > coalesce(a.placed, 0) OR coalesce(w.n, 0) > coalesce(a.worded, 0)
), last_added AS (
  SELECT trace_id, hash, max(seq) AS seq
  FROM (SELECT trace_id, seq, unnest(added) AS hash FROM context_changes WHERE trace_id IN (SELECT trace_id FROM cut)) GROUP BY ALL
), lost AS (
  SELECT c.trace_id, c.step_id, c.previous_step, c.kept, g.hash, g.role, g.pos,
    row_number() OVER (PARTITION BY c.trace_id, c.step_id ORDER BY g.pos) AS nth, count(*) OVER (PARTITION BY c.trace_id, c.step_id) AS missing
  FROM cut c JOIN gone g ON g.trace_id = c.trace_id AND g.step_id = c.step_id
  JOIN later_kept k ON k.trace_id = c.trace_id AND k.step_id = c.step_id
  LEFT JOIN last_added a ON a.trace_id = g.trace_id AND a.hash = g.hash
  ANTI JOIN went_back b ON b.trace_id = c.trace_id AND b.step_id = c.step_id
  ANTI JOIN summed s ON s.trace_id = c.trace_id AND s.step_id = c.step_id
  -- Another system prompt, or a prompt that stood at the end for one call only, is another question and no loss. What comes back
  -- was left out of a side call only.
  WHERE g.role NOT IN ('system', 'developer') AND g.pos < k.pos AND NOT coalesce(a.seq > c.seq, false)
)
SELECT l.trace_id, l.step_id AS failed_step, l.step_id AS cause_step, sure('context.truncated/dropped') AS confidence,
  'context.truncated/dropped' AS rule,
  any_value(l.missing) || ' message(s) of the model call before are gone and no summary stands in their place' AS message,
  list(fact(l.previous_step, 'was sent then: ' || l.role || ' message ' || l.pos, NULL, m.text) ORDER BY l.pos)
    || [fact(l.step_id, 'was sent without them; ' || any_value(l.kept) || ' messages kept', NULL, NULL)] AS evidence
FROM lost l JOIN messages m ON m.trace_id = l.trace_id AND m.hash = l.hash
WHERE l.nth <= 6
GROUP BY l.trace_id, l.step_id
ORDER BY l.trace_id, failed_step;
