-- One row: a step of the agent itself that ended in an exception which no step below it shows.
SELECT trace_id, failed_step, cause_step, confidence, rule, message, evidence
FROM told('process.exception', 'raised')
ORDER BY trace_id, failed_step;
