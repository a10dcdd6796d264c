-- One row: a step whose error says that its service was not there, with what the error tells of whether the request was sent.
SELECT t.trace_id, t.failed_step, t.cause_step, t.confidence, t.rule, t.message,
  list_filter(list_append(t.evidence, CASE
    WHEN g.kind <> 'tool' OR g.status = 'unknown' OR g.effect_status = 'executed_unknown' THEN NULL
    WHEN says_status(lower(g.said), '5\d\d') THEN fact(t.failed_step, 'the service was reached and answered', NULL, NULL)
    WHEN connection_broke(lower(g.said)) AND coalesce(g.effect_status, '') <> 'failed' THEN
      fact(t.failed_step, 'the connection broke: nothing here tells whether the request had been sent', NULL, NULL)
    WHEN g.effect_status = 'failed' OR regexp_matches(lower(g.said), 'refused|resolution|not known|getaddrinfo|unreachable|connect.?(error|timeout)|pool.?timeout')
      THEN fact(t.failed_step, 'the request was never sent', NULL, NULL) END), lambda f: f IS NOT NULL) AS evidence
FROM told('timeout.unavailable', 'found its service unavailable') t
JOIN signals g ON g.trace_id = t.trace_id AND g.step_id = t.failed_step
ORDER BY t.trace_id, t.failed_step;
