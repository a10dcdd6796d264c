-- One row: a tool step with an id-like argument that nothing before it holds, though ids of its kind usually come from somewhere.
WITH told AS (
  -- Where nothing that a user or a system said is on record, an id without a source says nothing.
  SELECT DISTINCT trace_id FROM messages WHERE role IN ('user', 'system', 'developer', 'human')
  UNION SELECT trace_id FROM steps WHERE kind IN ('task', 'agent') AND input IS NOT NULL
), ids AS (
  SELECT l.trace_id, l.step_id, l.seq, s.tool_name, l.path, lower(l.key) AS key, l.value,
    -- Two ids are of one shape when their words and numbers stand alike: `credit_card_7334` and `paypal_12` are `a_9`.
    regexp_replace(regexp_replace(regexp_replace(lower(l.value), '[a-z]*\d+[a-z][a-z0-9]*|[a-z]+\d[a-z0-9]*', 'W', 'g'),
      '[a-z]+([_:-][a-z]+)*', 'a', 'g'), '\d+', '9', 'g') AS shape
  FROM leaves l JOIN steps s ON s.trace_id = l.trace_id AND s.step_id = l.step_id SEMI JOIN told ON told.trace_id = l.trace_id
  WHERE l.side = 'input' AND l.type <> 'token' AND s.kind = 'tool' AND length(l.value) BETWEEN 4 AND 64
    AND regexp_matches(l.key, '(?i)(^|_|-)(id|ids|uuid|guid|number|no|num|ref|reference|sku|account|order|ticket|invoice|reservation)$|[a-z](Id|ID|Ids|Number|Ref)$')
    AND NOT regexp_matches(l.key, '(?i)phone|fax|house|street|page|line|port|room|session|request|trace|span|run|idempotency')
    AND regexp_matches(l.value, '^[#A-Za-z0-9][A-Za-z0-9_:#-]*$') AND regexp_matches(l.value, '\d')
    AND NOT regexp_matches(l.value, '^\d{4}-\d{2}(-\d{2})?|^\d{1,2}:\d{2}|^\d{1,4}$')
  -- After its first use the answer may echo it: only the first says where it came from.
  QUALIFY dense_rank() OVER (PARTITION BY l.trace_id, l.value ORDER BY l.seq) = 1
), found AS (
  SELECT DISTINCT trace_id, step_id, path FROM origins WHERE origin_side IN ('output', 'user', 'system', 'assistant')
), marked AS (
  SELECT i.*, f.step_id IS NOT NULL AS grounded
  FROM ids i LEFT JOIN found f ON f.trace_id = i.trace_id AND f.step_id = i.step_id AND f.path = i.path
), kinds AS (
  SELECT key, shape, count(DISTINCT value) FILTER (grounded) AS good, count(DISTINCT value) FILTER (NOT grounded) AS bad
  FROM marked GROUP BY key, shape
), near AS (
  SELECT trace_id, key, shape, min_by(step_id, (seq, value)) AS peer_step, min_by(value, (seq, value)) AS peer_value
  FROM marked WHERE grounded GROUP BY trace_id, key, shape
), unsourced AS (
  SELECT trace_id, step_id, path, seq, value, regexp_replace(lower(value), '\d', '9', 'g') AS pattern FROM marked WHERE NOT grounded
), alike AS (
  -- An earlier id with the same letters and other digits: the one that was meant, as likely as not.
  SELECT u.trace_id, u.step_id, u.path, min(l.value) AS value, min_by(l.step_id, (l.value, l.seq, l.step_id)) AS step_id_of_value
  FROM unsourced u JOIN leaves l ON l.trace_id = u.trace_id AND l.side IN ('user', 'system', 'output') AND l.seq <= u.seq
    AND l.step_id IS DISTINCT FROM u.step_id AND length(l.value) = length(u.value) AND l.value <> u.value
    AND regexp_replace(lower(l.value), '\d', '9', 'g') = u.pattern
  WHERE length(u.value) >= 6 GROUP BY u.trace_id, u.step_id, u.path
), candidates AS (
  SELECT m.*, k.good, coalesce(n.peer_step, a.step_id_of_value) AS peer_step, coalesce(n.peer_value, a.value) AS peer_value
  FROM marked m JOIN kinds k USING (key, shape) LEFT JOIN near n USING (trace_id, key, shape)
  LEFT JOIN alike a ON a.trace_id = m.trace_id AND a.step_id = m.step_id AND a.path = m.path
  WHERE NOT m.grounded AND (k.good >= 3 * k.bad OR n.peer_step IS NOT NULL AND k.good >= k.bad OR a.value IS NOT NULL AND k.good >= 1)
), heard AS (
  -- The value may stand inside a longer word or text that the lineage did not cut into tokens.
  SELECT c.trace_id, c.step_id, c.path FROM candidates c JOIN messages m ON m.trace_id = c.trace_id
  WHERE m.seq <= c.seq AND m.role IN ('user', 'system', 'tool', 'developer', 'human') AND contains(lower(m.text), lower(c.value))
  UNION
  SELECT c.trace_id, c.step_id, c.path FROM candidates c JOIN steps s ON s.trace_id = c.trace_id AND s.seq < c.seq
  WHERE contains(lower(s.output_text), lower(c.value)) AND s.kind <> 'model'
     OR s.kind IN ('task', 'agent', 'step') AND contains(lower(s.input::VARCHAR), lower(c.value))
), respelled AS (
  -- The same id without the sign before or behind it was given: nobody invented it.
  SELECT c.trace_id, c.step_id, c.path, min_by(m.origin_step, m.seq) AS origin_step,
    any_value(trim(regexp_replace(c.value, '^\W+|\W+$', '', 'g'))) AS given_value
  FROM candidates c JOIN (
    SELECT trace_id, NULL AS origin_step, seq, text FROM messages WHERE role IN ('user', 'system', 'tool', 'developer', 'human')
    UNION ALL SELECT trace_id, step_id, seq, output_text FROM steps WHERE kind <> 'model' AND output_text IS NOT NULL
  ) m ON m.trace_id = c.trace_id AND m.seq <= c.seq
  WHERE regexp_matches(c.value, '^\W|\W$') AND m.origin_step IS DISTINCT FROM c.step_id
    AND regexp_matches(lower(m.text), '(^|\W)' || lower(regexp_replace(c.value, '^\W+|\W+$', '', 'g')) || '($|\W)')
  GROUP BY c.trace_id, c.step_id, c.path
), offered AS (
  SELECT c.trace_id, c.step_id, c.path, min(l.value) AS value, min_by(l.step_id, (l.value, l.seq, l.step_id)) AS step_id_of_value
  FROM candidates c JOIN leaves l ON l.trace_id = c.trace_id AND l.seq < c.seq AND l.side = 'output' AND lower(l.key) = c.key AND l.value <> c.value
  GROUP BY c.trace_id, c.step_id, c.path
), invented AS (
  SELECT c.*, o.value AS offered_value, o.step_id_of_value, g.said, w.given_value, w.origin_step,
    CASE WHEN g.said IS NOT NULL THEN 'refused' WHEN w.given_value IS NOT NULL THEN 'respelled' ELSE 'no_source' END AS rule
  FROM candidates c ANTI JOIN heard h ON h.trace_id = c.trace_id AND h.step_id = c.step_id AND h.path = c.path
  LEFT JOIN offered o ON o.trace_id = c.trace_id AND o.step_id = c.step_id AND o.path = c.path
  LEFT JOIN respelled w ON w.trace_id = c.trace_id AND w.step_id = c.step_id AND w.path = c.path
  LEFT JOIN signals g ON g.trace_id = c.trace_id AND g.step_id = c.step_id
  QUALIFY row_number() OVER (PARTITION BY c.trace_id, c.step_id ORDER BY c.path) = 1
)
SELECT i.trace_id, i.step_id AS failed_step, coalesce(a.asked_step, i.step_id) AS cause_step,
  sure('parameter.unknown_reference/' || i.rule) AS confidence, 'parameter.unknown_reference/' || i.rule AS rule,
  i.key || ' ' || i.value || ' of ' || i.tool_name || CASE WHEN i.given_value IS NULL THEN ' stands in no earlier output, user or system text'
    ELSE ' was given as ' || i.given_value END AS message,
  list_filter([
    fact(i.step_id, CASE WHEN i.given_value IS NULL THEN 'no earlier output, user or system text holds this id'
      ELSE 'no earlier output, user or system text holds this id in this spelling' END, replace(i.path, '$', '$.input'), i.value),
    CASE WHEN i.given_value IS NOT NULL THEN fact(i.origin_step, 'the id as it was given', NULL, i.given_value) END,
    CASE WHEN i.given_value IS NOT NULL THEN NULL
         WHEN i.peer_value IS NOT NULL THEN fact(i.peer_step, 'an id of the same shape that does have a source', NULL, i.peer_value)
         ELSE fact(NULL, i.good || ' ids of this shape in this log do have a source', NULL, i.shape) END,
    CASE WHEN i.offered_value IS NOT NULL THEN fact(i.step_id_of_value, 'what an earlier output offered under that name', NULL, i.offered_value) END,
    CASE WHEN i.said IS NOT NULL THEN fact(i.step_id, 'the tool answered', '$.output', i.said) END], lambda f: f IS NOT NULL) AS evidence
FROM invented i LEFT JOIN askers a ON a.trace_id = i.trace_id AND a.step_id = i.step_id
ORDER BY i.trace_id, failed_step;
