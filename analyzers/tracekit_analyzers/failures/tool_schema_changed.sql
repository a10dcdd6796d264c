-- One row: a call whose endpoint is gone, or a good answer whose keys or types differ from all other good answers of its tool.
WITH answers AS (
  SELECT s.trace_id, s.step_id, s.tool_name, s.started_at, s.seq,
    CASE WHEN is_object(s.output) THEN s.output ELSE TRY_CAST(s.output_text AS JSON) END AS body
  FROM steps s ANTI JOIN signals g ON g.trace_id = s.trace_id AND g.step_id = s.step_id
  WHERE s.kind = 'tool' AND s.status = 'ok' AND starts_with(ltrim(left(s.output_text, 20)), '{')
), numbered AS (
  SELECT *, count(*) OVER (PARTITION BY tool_name) AS total FROM answers WHERE is_object(body)
), known AS (
  SELECT * FROM numbered WHERE total >= 6
), typed AS MATERIALIZED (
  SELECT trace_id, step_id, tool_name, total, e.key AS key,
    CASE WHEN json_type(e.value) IN ('UBIGINT', 'BIGINT', 'DOUBLE', 'HUGEINT') THEN 'NUMBER' ELSE coalesce(json_type(e.value), 'NULL') END AS type
  FROM (SELECT trace_id, step_id, tool_name, total, unnest(members_of(body)) AS e FROM known)
), shapes AS (
  SELECT tool_name, key, any_value(total) AS total, sum(n) AS seen, arg_max(type, (n, type)) FILTER (type <> 'NULL') AS usual, max(n) AS usual_seen
  FROM (SELECT tool_name, key, type, any_value(total) AS total, count(*) AS n FROM typed GROUP BY tool_name, key, type) GROUP BY tool_name, key
), steady AS (
  SELECT * FROM shapes WHERE total - seen <= greatest(1, 0.05 * total)
), missing AS (
  SELECT k.trace_id, k.step_id, k.tool_name, list(s.key ORDER BY s.key) AS names
  FROM known k JOIN steady s ON s.tool_name = k.tool_name AND s.seen < s.total
  ANTI JOIN typed t ON t.trace_id = k.trace_id AND t.step_id = k.step_id AND t.key = s.key
  GROUP BY k.trace_id, k.step_id, k.tool_name
), fresh AS (
  SELECT t.trace_id, t.step_id, list(t.key ORDER BY t.key) AS names
  FROM typed t JOIN shapes s ON s.tool_name = t.tool_name AND s.key = t.key AND s.seen <= greatest(1, 0.05 * s.total)
  GROUP BY t.trace_id, t.step_id
), retyped AS (
  SELECT t.trace_id, t.step_id, t.tool_name, list(t.key || ': ' || lower(s.usual) || ' is now ' || lower(t.type) ORDER BY t.key) AS names
  FROM typed t JOIN steady s ON s.tool_name = t.tool_name AND s.key = t.key
  WHERE t.type <> 'NULL' AND t.type <> s.usual AND s.total - s.usual_seen <= greatest(1, 0.05 * s.total)
  GROUP BY t.trace_id, t.step_id, t.tool_name
)
SELECT trace_id, failed_step, cause_step, confidence, rule, message, evidence
FROM told('tool.schema_changed', 'is no longer there as it was')
UNION ALL
SELECT m.trace_id, m.step_id, m.step_id, sure('tool.schema_changed/keys'), 'tool.schema_changed/keys',
  m.tool_name || ' answered without ' || array_to_string(m.names, ', ') || ' and with the new ' || array_to_string(f.names, ', '),
  [fact(m.step_id, 'missing, though all other good answers of this tool have it', '$.output', array_to_string(m.names, ', ')),
   fact(m.step_id, 'new, in no other answer of this tool', '$.output', array_to_string(f.names, ', '))]
FROM missing m JOIN fresh f ON f.trace_id = m.trace_id AND f.step_id = m.step_id
UNION ALL
SELECT trace_id, step_id, step_id, sure('tool.schema_changed/types'), 'tool.schema_changed/types',
  tool_name || ' answered with another type at ' || array_to_string(names, ', '),
  [fact(step_id, 'type differs from all other good answers of this tool', '$.output', array_to_string(names, ', '))]
FROM retyped
ORDER BY trace_id, failed_step;
