-- One row: a step that was cancelled.
SELECT trace_id, failed_step, cause_step, confidence, rule, message, evidence
FROM told('process.cancelled', 'was stopped')
ORDER BY trace_id, failed_step;
