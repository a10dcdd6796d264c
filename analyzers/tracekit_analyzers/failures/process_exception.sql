-- One row: a step of the agent itself that ended in an exception which no step below it shows; one without a word only where
-- the run failed, since then it is at least where.
SELECT t.trace_id, t.failed_step, t.cause_step,
  CASE WHEN g.said = '' THEN sure('process.exception/silent') ELSE t.confidence END AS confidence,
  CASE WHEN g.said = '' THEN 'process.exception/silent' ELSE t.rule END AS rule,
  CASE WHEN g.said = '' THEN coalesce(s.name, s.kind) || ' ended in an error and says nothing about it' ELSE t.message END AS message, t.evidence
FROM told('process.exception', 'raised') t
JOIN signals g ON g.trace_id = t.trace_id AND g.step_id = t.failed_step
JOIN steps s ON s.trace_id = t.trace_id AND s.step_id = t.failed_step
JOIN traces r ON r.trace_id = t.trace_id
WHERE g.said <> '' OR r.status <> 'ok'
ORDER BY trace_id, failed_step;
