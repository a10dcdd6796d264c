-- One row: a step whose error says that the context limit was hit, or whose model stopped for that reason.
SELECT trace_id, failed_step, cause_step, confidence, rule, message, evidence
FROM told('context.overflow', 'ran into the context limit')
UNION ALL
SELECT trace_id, step_id, step_id, sure('context.overflow/finish_reason'), 'context.overflow/finish_reason',
  'the model stopped because its context was full', [fact(step_id, 'finish reason', '$.finish_reason', finish_reason)]
FROM steps WHERE kind = 'model' AND status <> 'error' AND lower(finish_reason) IN ('model_context_window_exceeded', 'context_length_exceeded', 'context_window_exceeded')
ORDER BY trace_id, failed_step;
