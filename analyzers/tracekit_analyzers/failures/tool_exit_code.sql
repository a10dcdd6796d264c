-- One row: a command that ended with an exit code other than 0.
SELECT t.trace_id, t.failed_step, t.cause_step, t.confidence, t.rule,
  coalesce(g.tool_name, g.kind) || ' ended with exit code ' || g.exit_code || coalesce(': ' || nullif(left(g.said, 160), ''), '') AS message, t.evidence
FROM told('tool.exit_code', 'ended with an error code') t
JOIN signals g ON g.trace_id = t.trace_id AND g.step_id = t.failed_step
ORDER BY trace_id, failed_step;
