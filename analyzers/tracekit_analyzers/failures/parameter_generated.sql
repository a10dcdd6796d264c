-- One row: a call whose arguments were refused for their form, or a failed call that does not fit the tool's schema.
SELECT trace_id, failed_step, cause_step, confidence, rule, message, evidence
FROM told_of_model('parameter.generated', 'refused its arguments')
UNION ALL
SELECT g.trace_id, g.step_id, coalesce(a.asked_step, g.step_id), sure('parameter.generated/schema'), 'parameter.generated/schema',
  g.tool_name || ' failed, and its arguments lack ' || array_to_string(m.missing, ', ') || ', which every good call has',
  [fact(g.step_id, 'arguments lack what the tool needs', '$.input', array_to_string(m.missing, ', ')),
   fact(g.step_id, 'it failed', '$.output', g.said)]
FROM signals g
JOIN (SELECT s.trace_id, s.step_id,
        list_filter(CAST(f.schema -> '$.required' AS VARCHAR[]), lambda k: NOT list_contains(json_keys(s.input), k)) AS missing
      FROM steps s JOIN tool_facts f ON f.tool_name = s.tool_name
      WHERE s.kind = 'tool' AND json_type(s.input) = 'OBJECT' AND json_type(f.schema, '$.required') = 'ARRAY' AND f.good_calls >= 3) m
  ON m.trace_id = g.trace_id AND m.step_id = g.step_id
LEFT JOIN askers a ON a.trace_id = g.trace_id AND a.step_id = g.step_id
WHERE g.code IN ('tool.error', 'tool.hidden_error', 'tool.rejected') AND len(m.missing) > 0
ORDER BY trace_id, failed_step;
