-- One row: a step whose error says so in words.
SELECT trace_id, failed_step, cause_step, confidence, rule, message, evidence
FROM told_of_model('output.unknown_tool', 'is no tool of this agent')
ORDER BY trace_id, failed_step;
