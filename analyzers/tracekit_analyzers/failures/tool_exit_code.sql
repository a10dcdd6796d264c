-- One row: a step whose error says so in words.
SELECT trace_id, failed_step, cause_step, confidence, rule, message, evidence
FROM told('tool.exit_code', 'ended with an error code')
ORDER BY trace_id, failed_step;
