-- One row: a call whose arguments were refused for their form, or a failed call without a key that all good calls have.
WITH good AS (
  SELECT s.tool_name, json_keys(s.input) AS keys
  FROM steps s ANTI JOIN signals g ON g.trace_id = s.trace_id AND g.step_id = s.step_id
  WHERE s.kind = 'tool' AND s.status = 'ok' AND is_object(s.input)
    AND s.tool_name IN (SELECT tool_name FROM signals WHERE code IN ('tool.error', 'tool.hidden_error', 'tool.rejected'))
), needed AS (
  SELECT tool_name, key FROM (SELECT tool_name, unnest(keys) AS key FROM good)
  JOIN (SELECT tool_name, count(*) AS total FROM good GROUP BY tool_name) USING (tool_name)
  GROUP BY tool_name, key HAVING count(*) = any_value(total) AND count(*) >= 5
), received AS MATERIALIZED (
  -- Held apart: else the arguments of all calls are parsed to see which are objects.
  SELECT s.trace_id, s.step_id, s.tool_name, s.input FROM signals g JOIN steps s ON s.trace_id = g.trace_id AND s.step_id = g.step_id
  WHERE g.kind = 'tool' AND s.tool_name IN (SELECT tool_name FROM needed)
), refused AS (
  SELECT * FROM received WHERE is_object(input)
), had AS (
  SELECT trace_id, step_id, unnest(json_keys(input)) AS key FROM refused
), incomplete AS (
  SELECT r.trace_id, r.step_id, list(n.key ORDER BY n.key) AS missing
  FROM refused r JOIN needed n ON n.tool_name = r.tool_name
  ANTI JOIN had h ON h.trace_id = r.trace_id AND h.step_id = r.step_id AND h.key = n.key
  GROUP BY r.trace_id, r.step_id
)
SELECT trace_id, failed_step, cause_step, confidence, rule, message, evidence
FROM told_of_model('parameter.generated', 'refused its arguments')
UNION ALL
SELECT g.trace_id, g.step_id, coalesce(a.asked_step, g.step_id), sure('parameter.generated/schema'), 'parameter.generated/schema',
  g.tool_name || ' failed, and its arguments lack ' || array_to_string(m.missing, ', ') || ', which every good call has',
  [fact(g.step_id, 'arguments lack what the tool needs', '$.input', array_to_string(m.missing, ', ')),
   fact(g.step_id, 'it failed', '$.output', g.said)]
FROM signals g
JOIN incomplete m ON m.trace_id = g.trace_id AND m.step_id = g.step_id
LEFT JOIN askers a ON a.trace_id = g.trace_id AND a.step_id = g.step_id
WHERE g.code IN ('tool.error', 'tool.hidden_error', 'tool.rejected') AND NOT g.called_by_code
ORDER BY trace_id, failed_step;
