-- One row: a write that overlaps in time with another write of the same tool to the same thing, with another value.
WITH writes AS (
  SELECT trace_id, step_id, seq, tool_name, agent, started_at, finished_at, input
  FROM steps
  WHERE kind = 'tool' AND finished_at IS NOT NULL AND is_object(input)
    AND (effect_risk IS NOT NULL AND effect_risk <> 'read'
         OR effect_risk IS NULL AND regexp_matches(lower(tool_name), '^(set|write|update|put|save|delete|edit|modify|store)'))
), things AS (
  -- One row: a write and a thing that it names. Those of one thing are met block by block: each with some 50 to 100 before it.
  SELECT w.*, x.path, x.value, row_number() OVER (PARTITION BY w.trace_id, w.tool_name, x.path, x.value ORDER BY w.seq) // 50 AS block
  FROM writes w JOIN leaves x ON x.trace_id = w.trace_id AND x.step_id = w.step_id AND x.side = 'input'
  WHERE regexp_matches(lower(x.key), '(^|_)(id|key|name|path|file|item|order|user|account|record)$|path$|file')
), same_thing AS (
  SELECT b.trace_id, a.step_id AS first_step, b.step_id AS second_step, any_value(b.tool_name) AS tool_name, min(b.path) AS path,
    min(b.value) AS value, any_value(a.input) AS first_input, any_value(b.input) AS second_input
  FROM things a JOIN (SELECT *, unnest([block - 1, block]) AS met FROM things) b
    ON b.trace_id = a.trace_id AND b.tool_name = a.tool_name AND b.path = a.path AND b.value = a.value AND b.met = a.block
    AND b.seq > a.seq AND b.started_at < a.finished_at AND a.started_at < b.finished_at
  WHERE a.input::VARCHAR <> b.input::VARCHAR
  GROUP BY b.trace_id, a.step_id, b.step_id
)
SELECT trace_id, second_step AS failed_step, first_step AS cause_step, sure('orchestration.conflict/overlap') AS confidence,
  'orchestration.conflict/overlap' AS rule, 'two overlapping calls of ' || tool_name || ' wrote ' || left(value, 80) AS message,
  [fact(first_step, 'wrote it', replace(path, '$', '$.input'), first_input), fact(second_step, 'wrote it at the same time', replace(path, '$', '$.input'), second_input)] AS evidence
FROM same_thing
QUALIFY row_number() OVER (PARTITION BY trace_id, second_step ORDER BY first_step) = 1
ORDER BY trace_id, failed_step;
