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
  SELECT trace_id, step_id, path, seq, key, value, regexp_replace(lower(value), '\d', '9', 'g') AS pattern FROM marked WHERE NOT grounded
), places AS (
  -- What could have been meant: an id with the same letters and other digits, or what an output calls by the same name. A message
  -- is known to the step of its own number.
  SELECT l.trace_id, 'letters' AS way, u.pattern AS likeness, l.value, min({'turn': 2 * l.seq + (l.step_id IS NOT NULL)::INTEGER, 'step_id': l.step_id}) AS place
  FROM leaves l JOIN (SELECT DISTINCT trace_id, pattern FROM unsourced WHERE length(pattern) >= 6) u
    ON u.trace_id = l.trace_id AND length(u.pattern) = length(l.value) AND u.pattern = regexp_replace(lower(l.value), '\d', '9', 'g')
  WHERE l.side IN ('user', 'system', 'output') GROUP BY ALL
  UNION ALL
  SELECT l.trace_id, 'name', u.key, l.value, min({'turn': 2 * l.seq + 1, 'step_id': l.step_id})
  FROM leaves l JOIN (SELECT DISTINCT trace_id, key FROM unsourced) u ON u.trace_id = l.trace_id AND u.key = lower(l.key)
  WHERE l.side = 'output' GROUP BY ALL
), in_turn AS (
  -- The two smallest values that were known at each id, since one may be the id itself: of two, the larger one loses, and the smallest
  -- of all that lost so far is the second. A join with all before it would be a product.
  SELECT *, min(place) OVER w AS least, min(loser) OVER w AS second
  FROM (
    SELECT *, NULL AS step_id, NULL AS path, CASE WHEN before.value < value THEN place ELSE before END AS loser FROM (
      SELECT *, min(place) OVER (PARTITION BY trace_id, way, likeness ORDER BY turn ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
      FROM (SELECT trace_id, way, likeness, value, place.turn AS turn, {'value': value, 'step_id': place.step_id} AS place FROM places))
    UNION ALL BY NAME
    SELECT trace_id, step_id, path, value, 2 * seq AS turn, unnest(['letters', 'name']) AS way, unnest([pattern, key]) AS likeness FROM unsourced
  ) WINDOW w AS (PARTITION BY trace_id, way, likeness ORDER BY turn, step_id IS NOT NULL)
), meant AS (
  SELECT trace_id, step_id, path, way, CASE WHEN least.value = value THEN second ELSE least END AS one FROM in_turn
  WHERE step_id IS NOT NULL AND one IS NOT NULL
), alike AS (
  SELECT trace_id, step_id, path, one.value AS value, one.step_id AS step_id_of_value FROM meant WHERE way = 'letters'
), offered AS (
  SELECT trace_id, step_id, path, one.value AS value, one.step_id AS step_id_of_value FROM meant WHERE way = 'name'
), candidates AS (
  SELECT m.*, k.good, coalesce(n.peer_step, a.step_id_of_value) AS peer_step, coalesce(n.peer_value, a.value) AS peer_value
  FROM marked m JOIN kinds k USING (key, shape) LEFT JOIN near n USING (trace_id, key, shape)
  LEFT JOIN alike a ON a.trace_id = m.trace_id AND a.step_id = m.step_id AND a.path = m.path
  WHERE NOT m.grounded AND (k.good >= 3 * k.bad OR n.peer_step IS NOT NULL AND k.good >= k.bad OR a.value IS NOT NULL AND k.good >= 1)
), texts AS NOT MATERIALIZED (
  -- What was said where an id may stand, with the number of the first step that can know it.
  SELECT trace_id, seq AS known_seq, NULL AS step_id, true AS told, lower(text) AS text FROM messages WHERE role IN ('user', 'system', 'tool', 'developer', 'human')
  UNION ALL SELECT trace_id, seq + 1, step_id, true, lower(output_text) FROM steps WHERE kind <> 'model' AND output_text IS NOT NULL
  UNION ALL SELECT trace_id, seq + 1, step_id, false, lower(input::VARCHAR) FROM steps WHERE kind IN ('task', 'agent', 'step') AND input IS NOT NULL
), sought AS (
  -- Up to fifty ids of a trace are looked for in each text. More of them would be a product: then every part of the texts that is as
  -- long as one of them is looked up among them.
  SELECT *, count(*) OVER (PARTITION BY trace_id) > 50 AS many FROM (SELECT DISTINCT trace_id, lower(value) AS value FROM candidates)
), words AS (
  SELECT trace_id, known_seq, unnest(regexp_extract_all(text, '[a-z0-9_:#-]*[0-9][a-z0-9_:#-]*')) AS word
  FROM texts WHERE trace_id IN (SELECT trace_id FROM sought WHERE many)
), pieces AS (
  -- A long word in halves that overlap: no id is longer than 64 characters.
  SELECT trace_id, known_seq, word FROM words WHERE length(word) <= 128
  UNION ALL
  SELECT trace_id, known_seq, unnest(list_transform(halves, lambda half, n: half || coalesce(halves[n + 1], '')))
  FROM (SELECT trace_id, known_seq, regexp_extract_all(word, '.{1,64}') AS halves FROM words WHERE length(word) > 128)
), parts AS (
  SELECT p.trace_id, p.known_seq, substring(p.word, unnest(range(1, length(p.word) - n.size + 2)), n.size) AS value
  FROM pieces p JOIN (SELECT DISTINCT trace_id, length(value) AS size FROM sought WHERE many) n ON n.trace_id = p.trace_id AND n.size <= length(p.word)
), stands AS (
  SELECT trace_id, value, min(known_seq) AS known_seq FROM (
    SELECT s.trace_id, s.value, t.known_seq FROM sought s JOIN texts t ON t.trace_id = s.trace_id AND contains(t.text, s.value) WHERE NOT s.many
    UNION ALL
    SELECT p.trace_id, p.value, p.known_seq FROM parts p SEMI JOIN sought s ON s.trace_id = p.trace_id AND s.value = p.value
  ) GROUP BY trace_id, value
), heard AS (
  -- The value may stand inside a longer word or text that the lineage did not cut into tokens.
  SELECT c.trace_id, c.step_id, c.path FROM candidates c JOIN stands s ON s.trace_id = c.trace_id AND s.value = lower(c.value) AND s.known_seq <= c.seq
), signed AS (
  SELECT trace_id, step_id, path, seq, regexp_replace(value, '^\W+|\W+$', '', 'g') AS given_value FROM candidates WHERE regexp_matches(value, '^\W|\W$')
), respelled AS (
  -- The same id without the sign before or behind it was given: nobody invented it.
  SELECT c.trace_id, c.step_id, c.path, c.given_value, CASE WHEN g.first.known_seq <= c.seq THEN g.first.step_id END AS origin_step
  FROM signed c JOIN (
    SELECT trace_id, word, min(known_seq) AS known_seq, min({'known_seq': known_seq, 'step_id': step_id}) FILTER (step_id IS NOT NULL) AS first
    FROM (SELECT trace_id, known_seq, step_id,
        unnest(list_distinct(regexp_extract_all(text, '\w+') || regexp_extract_all(text, '\w+(?:[:#-]+\w+)+'))) AS word
      FROM texts WHERE told AND trace_id IN (SELECT trace_id FROM signed))
    WHERE (trace_id, word) IN (SELECT trace_id, lower(given_value) FROM signed) GROUP BY trace_id, word
  ) g ON g.trace_id = c.trace_id AND g.word = lower(c.given_value) AND g.known_seq <= c.seq
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
