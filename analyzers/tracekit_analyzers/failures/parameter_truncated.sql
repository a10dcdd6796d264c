-- One row: a call whose argument text stops in the middle, or whose tool says that the text ended too early.
SELECT trace_id, failed_step, cause_step, confidence, rule, message, evidence
FROM told_of_model('parameter.truncated', 'got arguments that end too early')
UNION ALL
SELECT c.trace_id, coalesce(c.step_id, c.asked_step), c.asked_step,
  sure('parameter.truncated/' || CASE WHEN m.finish_reason IN ('length', 'max_tokens', 'MAX_TOKENS') THEN 'length' ELSE 'open_end' END),
  'parameter.truncated/' || CASE WHEN m.finish_reason IN ('length', 'max_tokens', 'MAX_TOKENS') THEN 'length' ELSE 'open_end' END,
  'the arguments of ' || coalesce(c.name, 'a call') || ' were cut off after ' || length(c.asked_arguments) || ' characters',
  [fact(c.asked_step, 'the JSON stops before it is closed' || coalesce('; finish reason ' || m.finish_reason, ''), '$.raw', right(c.asked_arguments, 200))]
FROM call_pairs c LEFT JOIN steps m ON m.trace_id = c.trace_id AND m.step_id = c.asked_step
WHERE regexp_matches(c.asked_arguments, '^\s*[{\[]') AND NOT json_valid(c.asked_arguments)
  AND (m.finish_reason IN ('length', 'max_tokens', 'MAX_TOKENS') OR NOT regexp_matches(c.asked_arguments, '[}\]]\s*$'))
ORDER BY trace_id, failed_step;
