-- One row is a step of any trace, the one that began last first; a step that a lost process left open is `killed`.
SELECT s.trace_id, s.step_id, s.seq, s.kind, s.name,
  CASE WHEN s.status = 'running' AND t.status <> 'running' THEN 'killed' ELSE s.status END AS status,
  s.started_at, s.duration_ms
FROM steps s JOIN traces t USING (trace_id)
WHERE {only}
ORDER BY s.started_at DESC NULLS LAST, s.trace_id, s.seq DESC
LIMIT {limit}
