-- One row: a write that overlaps in time with another write of the same tool to the same thing, with another value.
WITH writes AS (
  SELECT trace_id, step_id, seq, tool_name, agent, started_at, finished_at, input
  FROM steps
  WHERE kind = 'tool' AND finished_at IS NOT NULL AND json_type(input) = 'OBJECT'
    AND (effect_risk IS NOT NULL AND effect_risk <> 'read'
         OR effect_risk IS NULL AND regexp_matches(lower(tool_name), '^(set|write|update|put|save|delete|edit|modify|store)'))
), pairs AS (
  SELECT a.trace_id, a.step_id AS first_step, b.step_id AS second_step, a.tool_name, a.input AS first_input, b.input AS second_input
  FROM writes a JOIN writes b ON b.trace_id = a.trace_id AND b.tool_name = a.tool_name AND b.seq > a.seq
    AND b.started_at < a.finished_at AND a.started_at < b.finished_at
  WHERE a.input::VARCHAR <> b.input::VARCHAR
), same_thing AS (
  SELECT p.trace_id, p.first_step, p.second_step, any_value(p.tool_name) AS tool_name, min(x.path) AS path, min(x.value) AS value,
    any_value(p.first_input) AS first_input, any_value(p.second_input) AS second_input
  FROM pairs p
  JOIN leaves x ON x.trace_id = p.trace_id AND x.step_id = p.first_step AND x.side = 'input'
  JOIN leaves y ON y.trace_id = p.trace_id AND y.step_id = p.second_step AND y.side = 'input' AND y.path = x.path AND y.value = x.value
  WHERE regexp_matches(lower(x.key), '(^|_)(id|key|name|path|file|item|order|user|account|record)$|path$|file')
  GROUP BY p.trace_id, p.first_step, p.second_step
)
SELECT trace_id, second_step AS failed_step, first_step AS cause_step, sure('orchestration.conflict/overlap') AS confidence,
  'orchestration.conflict/overlap' AS rule, 'two overlapping calls of ' || tool_name || ' wrote ' || left(value, 80) AS message,
  [fact(first_step, 'wrote it', replace(path, '$', '$.input'), first_input), fact(second_step, 'wrote it at the same time', replace(path, '$', '$.input'), second_input)] AS evidence
FROM same_thing
QUALIFY row_number() OVER (PARTITION BY trace_id, second_step ORDER BY first_step) = 1
ORDER BY trace_id, failed_step;
