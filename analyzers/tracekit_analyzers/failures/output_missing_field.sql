-- One row: a step that read a model's answer and found a field missing; the cause is the model step before it.
WITH missing AS (
  SELECT trace_id, step_id, seq, kind, said FROM signals WHERE code = 'output.missing_field'
), before AS (
  SELECT e.trace_id, e.step_id, max_by(m.step_id, m.seq) AS model_step
  FROM missing e JOIN steps m ON m.trace_id = e.trace_id AND m.kind = 'model' AND m.seq <= e.seq
  GROUP BY e.trace_id, e.step_id
)
SELECT e.trace_id, e.step_id AS failed_step, coalesce(b.model_step, e.step_id) AS cause_step, sure('output.missing_field/error') AS confidence,
  'output.missing_field/error' AS rule, 'a field is missing in the answer: ' || left(e.said, 160) AS message,
  [fact(e.step_id, 'the reader of the answer failed', NULL, e.said), fact(b.model_step, 'the answer', '$.raw', m.raw)] AS evidence
FROM missing e LEFT JOIN before b USING (trace_id, step_id)
LEFT JOIN steps m ON m.trace_id = b.trace_id AND m.step_id = b.model_step
ORDER BY e.trace_id, failed_step;
