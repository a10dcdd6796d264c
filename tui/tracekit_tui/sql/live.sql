-- One row is a step of any trace, the one that began last first.
SELECT trace_id, step_id, seq, kind, name, status, started_at, duration_ms
FROM steps
WHERE {only}
ORDER BY started_at DESC NULLS LAST, trace_id, seq DESC
LIMIT {limit}
