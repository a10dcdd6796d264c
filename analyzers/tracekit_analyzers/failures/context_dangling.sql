-- One row: a tool step that received an unfilled placeholder, or a step that depends on a step which is not in the trace.
WITH placeholders AS (
  SELECT l.trace_id, l.step_id, l.path, l.value
  FROM leaves l
  WHERE l.side = 'input'
    AND regexp_matches(l.value, '^(\{\{\s*[\w.\[\]-]+\s*\}\}|\$\{[\w.\[\]-]+\}|\$[a-z]\w*(\.[a-z]\w*)+|\{[a-z]\w*(\.\w+)*\}|<[a-z][a-z]*([ _-][a-z]+)+>)$')
)
SELECT p.trace_id, p.step_id AS failed_step, coalesce(a.asked_step, p.step_id) AS cause_step, sure('context.dangling/placeholder') AS confidence,
  'context.dangling/placeholder' AS rule,
  coalesce(s.tool_name, s.name) || ' received the placeholder ' || left(p.value, 80) || ' instead of a value' AS message,
  [fact(p.step_id, 'nothing filled this in', replace(p.path, '$', '$.input'), p.value)] AS evidence
FROM placeholders p JOIN steps s ON s.trace_id = p.trace_id AND s.step_id = p.step_id AND s.kind = 'tool'
LEFT JOIN askers a ON a.trace_id = p.trace_id AND a.step_id = p.step_id
QUALIFY row_number() OVER (PARTITION BY p.trace_id, p.step_id ORDER BY p.path) = 1
UNION ALL
SELECT d.trace_id, d.step_id, d.step_id, sure('context.dangling/depends_on'), 'context.dangling/depends_on',
  d.name || ' depends on a step that the log does not hold', [fact(d.step_id, 'depends on', '$.depends_on', d.needs)]
FROM (SELECT trace_id, step_id, name, unnest(depends_on) AS needs FROM steps WHERE len(depends_on) > 0) d
ANTI JOIN steps s ON s.trace_id = d.trace_id AND s.step_id = d.needs
ORDER BY trace_id, failed_step;
