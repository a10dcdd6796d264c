-- One row: a finished model step with neither text nor call.
SELECT s.trace_id, s.step_id AS failed_step, s.step_id AS cause_step, sure('output.empty/no_text') AS confidence,
  'output.empty/no_text' AS rule, 'the model answered with neither text nor call' AS message,
  [fact(s.step_id, 'the answer is empty' || coalesce('; finish reason ' || s.finish_reason, ''), '$.raw', s.raw)] AS evidence
FROM steps s ANTI JOIN call_pairs c ON c.trace_id = s.trace_id AND c.asked_step = s.step_id
WHERE s.kind = 'model' AND s.status = 'ok' AND s.raw IS NOT NULL AND NOT regexp_matches(s.raw, '[^ \t\r\n]')
  AND (s.output_text IS NULL OR regexp_full_match(s.output_text, '[ \t\r\n"]*(null|\[\]|\{\})?[ \t\r\n"]*'))
ORDER BY s.trace_id, failed_step;
