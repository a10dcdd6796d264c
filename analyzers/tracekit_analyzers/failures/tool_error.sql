-- One row: a step whose error says that the tool broke, or that the code called it wrongly.
SELECT t.trace_id, t.failed_step, t.cause_step, t.confidence, t.rule,
  CASE WHEN g.called_by_code THEN g.tool_name || ' was called wrongly by the code; no model of this run asked for the call: ' || left(g.said, 160)
    ELSE t.message END AS message, t.evidence
FROM told('tool.error', 'failed') t
JOIN signals g ON g.trace_id = t.trace_id AND g.step_id = t.failed_step
ORDER BY t.trace_id, t.failed_step;
