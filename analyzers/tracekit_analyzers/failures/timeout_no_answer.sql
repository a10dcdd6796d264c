-- One row: a step that was sent and got no answer, told by its own error or by its status.
SELECT t.trace_id, t.failed_step, t.cause_step, t.confidence, t.rule,
  t.message || coalesce(' (' || g.time_limit || ')', '') AS message,
  CASE WHEN g.time_limit IS NULL THEN t.evidence ELSE list_append(t.evidence, fact(t.failed_step, 'it was cancelled by a time limit: ' || g.time_limit, NULL, NULL)) END AS evidence
FROM told('timeout.no_answer', 'got no answer') t
JOIN signals g ON g.trace_id = t.trace_id AND g.step_id = t.failed_step
UNION ALL
SELECT s.trace_id, s.step_id, s.step_id, sure('timeout.no_answer/unknown_outcome'), 'timeout.no_answer/unknown_outcome',
  coalesce(s.tool_name, s.name, s.kind) || ' was sent and no answer was recorded: it may have happened',
  [fact(s.step_id, 'its outcome is unknown' || coalesce(' after ' || round(s.duration_ms)::BIGINT || ' ms', ''), '$.status', s.status)]
FROM steps s ANTI JOIN signals g ON g.trace_id = s.trace_id AND g.step_id = s.step_id
WHERE s.status = 'unknown' AND s.kind IN ('tool', 'model') AND s.output_text IS NULL
  AND (s.effect_risk IS NOT NULL OR s.duration_ms IS NOT NULL)
ORDER BY trace_id, failed_step;
