-- One row: a step whose error says so in words.
SELECT trace_id, failed_step, cause_step, confidence, rule, message, evidence
FROM told('timeout.rate_limited', 'was told to wait')
ORDER BY trace_id, failed_step;
