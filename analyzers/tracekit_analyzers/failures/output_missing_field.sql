-- One row: a step that read a model's answer and found a field missing; the cause is the model step before it.
WITH missing AS (
  SELECT trace_id, step_id, seq, kind, said FROM signals WHERE code = 'output.missing_field'
), in_order AS (
  -- The last model step before each error; a join with all before it would be a product.
  SELECT *, max(model) OVER (PARTITION BY trace_id ORDER BY seq, model IS NULL) AS before
  FROM (SELECT *, NULL AS model FROM missing UNION ALL BY NAME SELECT trace_id, seq, {'seq': seq, 'step_id': step_id} AS model
    FROM steps WHERE kind = 'model' AND trace_id IN (SELECT trace_id FROM missing))
)
SELECT e.trace_id, e.step_id AS failed_step, coalesce(before.step_id, e.step_id) AS cause_step, sure('output.missing_field/error') AS confidence,
  'output.missing_field/error' AS rule, 'a field is missing in the answer: ' || left(e.said, 160) AS message,
  [fact(e.step_id, 'the reader of the answer failed', NULL, e.said), fact(before.step_id, 'the answer', '$.raw', m.raw)] AS evidence
FROM in_order e LEFT JOIN steps m ON m.trace_id = e.trace_id AND m.step_id = before.step_id
WHERE e.model IS NULL
ORDER BY e.trace_id, failed_step;
