-- One row is a status and how many steps have it; a step that a lost process left open is `killed`.
SELECT CASE WHEN s.status = 'running' AND t.status <> 'running' THEN 'killed' ELSE s.status END AS status, count(*) AS steps
FROM steps s JOIN traces t USING (trace_id)
GROUP BY ALL
ORDER BY 1
