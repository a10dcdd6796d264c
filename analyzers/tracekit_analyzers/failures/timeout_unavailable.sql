-- One row: a step whose error says so in words.
SELECT trace_id, failed_step, cause_step, confidence, rule, message, evidence
FROM told('timeout.unavailable', 'could not reach its service')
ORDER BY trace_id, failed_step;
