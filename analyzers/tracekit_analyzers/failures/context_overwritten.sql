-- One row: a step that uses the value which another step wrote under a name, after that name was given another value.
WITH named AS (
  -- In a step that writes a whole table, a value belongs to the name that stands beside it; in a small one to each name of the step.
  SELECT trace_id, step_id, seq, path, value, type, lower(key) IN ('value', 'content', 'data', 'new_value') AS is_value,
    CASE WHEN count(*) FILTER (type <> 'token') OVER (PARTITION BY trace_id, step_id) > 100 THEN regexp_replace(path, '\.[^.\]]+$', '') ELSE '' END AS place
  FROM leaves
  WHERE side = 'input'
    AND lower(key) IN ('value', 'content', 'data', 'new_value', 'key', 'name', 'field', 'variable', 'var', 'slot')
), writes AS (
  SELECT DISTINCT k.trace_id, k.step_id, k.seq, s.tool_name, k.value AS name, v.value
  FROM named k
  JOIN named v ON v.trace_id = k.trace_id AND v.step_id = k.step_id AND v.place = k.place AND v.is_value
  JOIN steps s ON s.trace_id = k.trace_id AND s.step_id = k.step_id
  WHERE NOT k.is_value AND k.type <> 'token' AND s.kind IN ('tool', 'step') AND s.status = 'ok'
), in_turn AS (
  -- What one step writes under a name, a text with the ids in it, is one state of it.
  SELECT trace_id, step_id, seq, name, max(value) AS shown, lead(step_id) OVER (PARTITION BY trace_id, tool_name, name ORDER BY seq) AS next_step
  FROM writes GROUP BY trace_id, step_id, seq, tool_name, name
), replaced AS (
  SELECT a.trace_id, a.step_id AS first_step, b.step_id AS second_step, b.seq AS second_seq, a.name, a.value AS old, b.shown AS new
  FROM writes a JOIN in_turn f ON f.trace_id = a.trace_id AND f.step_id = a.step_id AND f.name = a.name
  JOIN in_turn b ON b.trace_id = a.trace_id AND b.step_id = f.next_step AND b.name = a.name
  ANTI JOIN writes same ON same.trace_id = b.trace_id AND same.step_id = b.step_id AND same.name = b.name AND same.value = a.value
  WHERE length(a.value) >= 2
), uses AS (
  SELECT l.trace_id, l.step_id, l.seq, l.path, l.value FROM leaves l SEMI JOIN replaced r ON r.trace_id = l.trace_id AND r.old = l.value
  ANTI JOIN writes w ON w.trace_id = l.trace_id AND w.step_id = l.step_id
  WHERE l.side = 'input'
), in_order AS (
  -- The last replacement before each use; a join over all before it would be a product.
  SELECT *, max(replacing) OVER (PARTITION BY trace_id, value ORDER BY seq, replacing IS NOT NULL) AS r
  FROM (SELECT trace_id, step_id, seq, path, value, NULL AS replacing FROM uses
    UNION ALL SELECT trace_id, NULL, second_seq, NULL, old, {'second_seq': second_seq, 'second_step': second_step, 'first_step': first_step,
      'name': name, 'new': new} FROM replaced)
)
SELECT l.trace_id, l.step_id AS failed_step, l.r.second_step AS cause_step, sure('context.overwritten/state') AS confidence,
  'context.overwritten/state' AS rule,
  'uses ' || left(l.value, 80) || ', which was replaced under the name ' || left(l.r.name, 60) || ' by ' || left(l.r.new, 80) AS message,
  [fact(l.r.first_step, 'wrote it under ' || l.r.name, NULL, l.value), fact(l.r.second_step, 'wrote another value under the same name', NULL, l.r.new),
   fact(l.step_id, 'still uses the first', replace(l.path, '$', '$.input'), l.value)] AS evidence
FROM in_order l WHERE l.step_id IS NOT NULL AND l.r IS NOT NULL
QUALIFY row_number() OVER (PARTITION BY l.trace_id, l.step_id ORDER BY l.r.second_seq DESC, l.path) = 1
ORDER BY l.trace_id, failed_step;
