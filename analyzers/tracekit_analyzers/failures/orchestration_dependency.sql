-- One row: a step that started before a step it depends on had ended well.
WITH needs AS (
  SELECT trace_id, step_id, seq, name, started_at, unnest(depends_on) AS needed FROM steps WHERE len(depends_on) > 0
)
SELECT n.trace_id, n.step_id AS failed_step,
  CASE WHEN d.status IN ('error', 'unknown') THEN d.step_id ELSE n.step_id END AS cause_step,
  sure('orchestration.dependency/' || CASE WHEN d.status IN ('error', 'unknown') THEN 'after_failure' ELSE 'too_early' END) AS confidence,
  'orchestration.dependency/' || CASE WHEN d.status IN ('error', 'unknown') THEN 'after_failure' ELSE 'too_early' END AS rule,
  n.name || ' ran ' || CASE WHEN d.status IN ('error', 'unknown') THEN 'although ' || d.name || ', which it needs, had ended in ' || d.status
    ELSE 'before ' || d.name || ', which it needs, had ended' END AS message,
  [fact(n.step_id, 'started', '$.started_at', n.started_at), fact(d.step_id, 'status ' || d.status || ', ended', '$.finished_at', d.finished_at)] AS evidence
FROM needs n JOIN steps d ON d.trace_id = n.trace_id AND d.step_id = n.needed
WHERE n.started_at < d.finished_at OR d.status IN ('error', 'unknown') OR (d.finished_at IS NULL AND d.status = 'running')
QUALIFY row_number() OVER (PARTITION BY n.trace_id, n.step_id ORDER BY d.seq, d.step_id) = 1
ORDER BY n.trace_id, failed_step;
