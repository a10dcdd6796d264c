-- One row: the first model step of a trace that says it goes on with data which nothing gave it.
SELECT s.trace_id, s.step_id AS failed_step, s.step_id AS cause_step, sure('output.unfounded/own_words') AS confidence,
  'output.unfounded/own_words' AS rule,
  'says itself that it goes on with data that nothing gave it' AS message,
  [fact(s.step_id, 'its own words', '$.raw', regexp_extract(coalesce(s.raw, s.output_text), '(?is).{0,80}\b(assum(e|ing)|hypothetical|placeholder|simulat)\w*.{0,120}'))] AS evidence
FROM steps s
WHERE s.kind = 'model' AND regexp_matches(coalesce(s.raw, s.output_text), '(?i)\b(assum(e|ing)|hypothetical|placeholder|simulat)')
QUALIFY row_number() OVER (PARTITION BY s.trace_id ORDER BY s.seq) = 1
ORDER BY s.trace_id, failed_step;
