-- One row: a model step that ended by a filter, whose provider refused the prompt, or whose whole answer is a refusal.
SELECT trace_id, step_id AS failed_step, step_id AS cause_step, sure('output.refused/finish_reason') AS confidence,
  'output.refused/finish_reason' AS rule, 'the answer was held back: ' || finish_reason AS message,
  [fact(step_id, 'finish reason', '$.finish_reason', finish_reason)] AS evidence
FROM steps WHERE kind = 'model' AND lower(finish_reason) IN ('content_filter', 'refusal', 'safety', 'recitation', 'prohibited_content', 'blocklist')
UNION ALL
SELECT trace_id, failed_step, cause_step, confidence, rule, message, evidence FROM told('output.refused', 'was held back')
UNION ALL
SELECT trace_id, step_id, step_id, sure('output.refused/words'), 'output.refused/words',
  'the model declined: ' || left(coalesce(raw, output_text), 120), [fact(step_id, 'its whole answer', '$.raw', coalesce(raw, output_text))]
FROM steps
WHERE kind = 'model' AND length(coalesce(raw, output_text)) < 200
  AND regexp_matches(coalesce(raw, output_text), '(?i)^\W{0,2}(i.m |i am )?(very )?(sorry|i apologi[sz]e)[^.]{0,40}\bi (can.?t|cannot|can not|am unable to|am not able to|won.t) (assist|help|comply|fulfil|provide|do that|continue)( you)?( with)?( that| this)?( request)?\W*$')
ORDER BY trace_id, failed_step;
