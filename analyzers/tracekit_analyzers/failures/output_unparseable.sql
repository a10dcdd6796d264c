-- One row: a model step whose text the agent could not read.
WITH errors AS (
  -- The step that failed to read an answer stands around the model step that gave it.
  SELECT g.trace_id, coalesce((SELECT max_by(m.step_id, m.seq) FROM steps m WHERE m.trace_id = g.trace_id AND m.kind = 'model' AND m.parent_step_id = g.step_id), g.step_id) AS step_id,
    g.seq, g.kind, g.said
  FROM signals g WHERE g.code = 'output.unparseable'
), complaints AS (
  SELECT m.trace_id, m.seq, m.pos, m.text, row_number() OVER (PARTITION BY m.trace_id, m.seq ORDER BY m.pos) AS nth
  FROM messages m
  WHERE m.role IN ('user', 'system', 'observation', 'human') AND m.seq > 1
    AND regexp_matches(left(m.text, 600), '(?is)^\W{0,3}(format error|parsing error|invalid format|error.{0,40}parsing|.{0,120}(could not|cannot|failed to|unable to) (be )?pars|(please |you must |your (output|response|answer) (must|should) ).{0,60}(exactly one|in the (following|correct|required|specified) format|valid json|triple backticks|code block|function call))')
), answered AS (
  SELECT trace_id, text, before.step_id
  FROM (
    -- The last model step before each complaint; a join with all before it would be a product.
    SELECT *, max(model) OVER (PARTITION BY trace_id ORDER BY seq, model IS NOT NULL) AS before
    FROM (SELECT trace_id, seq, text, NULL AS model FROM complaints WHERE nth = 1
      UNION ALL BY NAME SELECT trace_id, seq, {'seq': seq, 'step_id': step_id} AS model
      FROM steps WHERE kind = 'model' AND trace_id IN (SELECT trace_id FROM complaints))
  ) WHERE model IS NULL AND before IS NOT NULL
), idle AS (
  -- The same complaint again is the same message: later ones are known by an answer that led to nothing, and a model asked anew.
  SELECT s.trace_id, s.step_id, s.latest.text AS text
  FROM (
    SELECT *, max(complaint) OVER (PARTITION BY trace_id ORDER BY seq, complaint IS NULL) AS latest
    FROM (SELECT trace_id, step_id, seq, kind, lead(kind) OVER w AS next_kind, lead(seq) OVER w AS next_seq, NULL AS complaint
      FROM steps WHERE trace_id IN (SELECT trace_id FROM complaints) WINDOW w AS (PARTITION BY trace_id ORDER BY seq)
      UNION ALL BY NAME SELECT trace_id, seq, {'seq': seq, 'pos': pos, 'text': text} AS complaint FROM complaints)
  ) s
  WHERE s.kind = 'model' AND s.next_kind = 'model' AND s.latest IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.trace_id = s.trace_id AND m.seq = s.next_seq AND m.role IN ('user', 'human', 'tool'))
), closed AS (
  SELECT c.trace_id, coalesce(c.step_id, c.asked_step) AS step_id, c.asked_step, c.name, c.asked_arguments
  FROM call_pairs c
  WHERE regexp_matches(c.asked_arguments, '^\s*\{.*\}\s*$', 's') AND NOT json_valid(c.asked_arguments)
)
SELECT trace_id, step_id AS failed_step, step_id AS cause_step, sure('output.unparseable/parser') AS confidence,
  'output.unparseable/parser' AS rule, 'the answer could not be read: ' || left(said, 160) AS message,
  [fact(step_id, 'the parser gave up', NULL, said)] AS evidence
FROM errors
UNION ALL
SELECT trace_id, step_id, step_id, sure('output.unparseable/complaint'), 'output.unparseable/complaint',
  'the agent could not use the answer: ' || left(text, 160), [fact(step_id, 'the reply to it complains about its form', NULL, text)]
FROM (SELECT trace_id, step_id, text FROM answered UNION ALL SELECT trace_id, step_id, text FROM idle)
UNION ALL
SELECT trace_id, step_id, asked_step, sure('output.unparseable/arguments'), 'output.unparseable/arguments',
  'the arguments of ' || coalesce(name, 'a call') || ' are not JSON', [fact(asked_step, 'closed, but not JSON', '$.raw', asked_arguments)]
FROM closed
ORDER BY trace_id, failed_step;
