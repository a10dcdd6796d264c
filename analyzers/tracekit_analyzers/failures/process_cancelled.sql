-- One row: a step that was cancelled. Only where the error says so is it known that a person did it.
SELECT t.trace_id, t.failed_step, t.cause_step, t.confidence, t.rule,
  coalesce(g.tool_name, g.kind) || CASE
    WHEN stopped_by_person(lower(g.said)) THEN ' was stopped by a person'
    WHEN contains(lower(g.said), 'keyboardinterrupt') THEN ' was interrupted before it ' || done.word || ', by a person or a signal'
    ELSE ' was cancelled before it ' || done.word || ', by a time limit of the caller, a step beside it that failed, or a person' END
    || ': ' || left(g.said, 160) AS message, t.evidence
FROM told('process.cancelled', 'was cancelled') t
JOIN signals g ON g.trace_id = t.trace_id AND g.step_id = t.failed_step
JOIN (VALUES (true, 'answered'), (false, 'ended')) done(answers, word) ON done.answers = (g.kind IN ('tool', 'model'))
ORDER BY t.trace_id, t.failed_step;
