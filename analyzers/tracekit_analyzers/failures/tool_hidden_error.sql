-- One row: a step whose error says so in words.
SELECT trace_id, failed_step, cause_step, confidence, rule, message, evidence
FROM told('tool.hidden_error', 'reported a failure under a good status')
ORDER BY trace_id, failed_step;
