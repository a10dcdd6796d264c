-- One row: a refused call; the cause is the step that gave the value which the refusal names, else the model that wrote it.
WITH refused AS (
  SELECT g.trace_id, g.step_id, g.seq, g.said FROM signals g WHERE g.code = 'parameter.wrong_value' AND g.kind = 'tool'
), named AS (
  SELECT r.trace_id, r.step_id, l.path, l.value
  FROM refused r JOIN leaves l ON l.trace_id = r.trace_id AND l.step_id = r.step_id AND l.side = 'input'
  -- As a word of its own: `no` stands in many a refusal without being what was refused.
  WHERE length(l.value) >= 2 AND (regexp_matches(l.value, '\d') OR length(l.value) >= 4)
    AND contains(r.said, l.value) AND regexp_matches(r.said, '(^|\W)' || regexp_escape(l.value) || '($|\W)')
), given AS (
  SELECT n.trace_id, n.step_id, n.path, n.value, o.origin_step, o.origin_path, o.origin_seq
  FROM named n JOIN origins o ON o.trace_id = n.trace_id AND o.step_id = n.step_id AND o.path = n.path
  WHERE o.origin_side = 'output' AND o.origin_step IS NOT NULL
  QUALIFY row_number() OVER (PARTITION BY n.trace_id, n.step_id ORDER BY length(n.value) DESC, o.origin_seq DESC, n.path, o.origin_path) = 1
)
SELECT t.trace_id, t.failed_step, coalesce(g.origin_step, t.cause_step) AS cause_step, t.confidence, t.rule, t.message,
  CASE WHEN g.origin_step IS NULL THEN t.evidence
       ELSE t.evidence || [fact(t.failed_step, 'the refusal names this argument', replace(g.path, '$', '$.input'), g.value),
                           fact(g.origin_step, 'the value came from here', replace(g.origin_path, '$', '$.output'), g.value)] END AS evidence
FROM told_of_model('parameter.wrong_value', 'refused a value') t
LEFT JOIN given g ON g.trace_id = t.trace_id AND g.step_id = t.failed_step
ORDER BY t.trace_id, t.failed_step;
