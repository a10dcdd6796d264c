-- One row: a tool step with an argument whose latest source is an output that a later output about the same thing has replaced.
WITH latest AS (
  SELECT o.trace_id, o.step_id, o.seq, o.path, o.key, o.value, o.origin_step, o.origin_seq, o.origin_path, o.origin_side
  FROM origins o
  WHERE o.origin_side IS NOT NULL AND o.origin_side <> 'assistant' AND regexp_matches(o.value, '\d') AND length(o.value) >= 2
  QUALIFY row_number() OVER (PARTITION BY o.trace_id, o.step_id, o.path ORDER BY o.origin_seq DESC, o.origin_path) = 1
), next_tools AS (
  SELECT trace_id, step_id, lead(seq) OVER (PARTITION BY trace_id ORDER BY seq) AS next_seq FROM steps WHERE kind = 'tool'
), from_tool AS (
  SELECT l.*, regexp_extract(l.origin_path, '([^.\[\]"]+)"?$', 1) AS origin_key, regexp_replace(l.origin_path, '\.[^.\]]+$', '') AS origin_parent
  FROM latest l JOIN next_tools n ON n.trace_id = l.trace_id AND n.step_id = l.origin_step
  -- A step between source and use is needed; most uses follow at once and are done with here.
  WHERE l.origin_side = 'output' AND n.next_seq < l.seq
), calls AS (
  SELECT trace_id, step_id, seq, hash(tool_name, input::VARCHAR) AS call FROM steps
  WHERE kind = 'tool' AND tool_name IS NOT NULL AND input IS NOT NULL AND trace_id IN (SELECT trace_id FROM from_tool)
), of_calls AS (
  SELECT f.*, c.call, hash('call', c.call, f.origin_path) AS subject
  FROM from_tool f JOIN calls c ON c.trace_id = f.trace_id AND c.step_id = f.origin_step
), of_values AS (
  -- Values that are no id themselves: where they stand beside one, those of one thing can be told apart from those of another.
  SELECT * FROM from_tool WHERE NOT regexp_matches(origin_key, '(?i)(^|_)ids?$|[a-z]Id$')
), things AS (
  -- An object of an output by the ids in it; one with more than twenty is a table of things.
  SELECT trace_id, step_id, parent, list(key ORDER BY key) AS names, list({'key': key, 'value': value} ORDER BY key, value) AS ids
  FROM (
    SELECT DISTINCT trace_id, step_id, regexp_replace(path, '\.[^.\]]+$', '') AS parent, key, value FROM leaves
    WHERE side = 'output' AND type <> 'token' AND trace_id IN (SELECT trace_id FROM of_values) AND regexp_matches(key, '(?i)(^|_)id$|[a-z]Id$')
  ) GROUP BY trace_id, step_id, parent HAVING count(*) <= 20
), of_things AS (
  SELECT f.*, t.names, t.ids
  FROM of_values f JOIN things t ON t.trace_id = f.trace_id AND t.step_id = f.origin_step AND t.parent = f.origin_parent
), told AS (
  SELECT l.trace_id, l.step_id, l.seq, l.path, l.type, l.key, l.value, t.names, t.ids
  FROM leaves l JOIN things t ON t.trace_id = l.trace_id AND t.step_id = l.step_id AND t.parent = regexp_replace(l.path, '\.[^.\]]+$', '')
  SEMI JOIN of_things f ON f.trace_id = l.trace_id AND f.origin_key = l.key
  WHERE l.side = 'output'
), shared AS (
  -- A thing that shares one id with another, as two orders of one user do, differs in its own: all ids that both kinds of objects
  -- have must be the same.
  SELECT *, list_filter(mine, lambda name: list_contains(theirs, name)) AS names FROM (
    SELECT DISTINCT f.trace_id, f.origin_key AS key, f.names AS mine, t.names AS theirs
    FROM (SELECT DISTINCT trace_id, origin_key, names FROM of_things) f
    JOIN (SELECT DISTINCT trace_id, key, names FROM told) t ON t.trace_id = f.trace_id AND t.key = f.origin_key
  ) WHERE list_has_any(mine, theirs)
), uses AS (
  SELECT trace_id, step_id, seq, path, value, origin_seq, subject FROM of_calls
  UNION ALL
  SELECT f.trace_id, f.step_id, f.seq, f.path, f.value, f.origin_seq,
    hash(s.key, s.mine, s.theirs, list_filter(f.ids, lambda id: list_contains(s.names, id.key)))
  FROM of_things f JOIN shared s ON s.trace_id = f.trace_id AND s.key = f.origin_key AND s.mine = f.names
), answers AS (
  -- One row: an output that tells the value of a subject: what the same call answers at the same place, or a member of the same thing.
  SELECT trace_id, subject, step_id, seq, min({'path': path, 'token': type = 'token', 'value': value}) AS said FROM (
    SELECT c.trace_id, hash('call', c.call, l.path) AS subject, c.step_id, c.seq, l.path, l.type, l.value
    FROM (SELECT * FROM calls WHERE (trace_id, call) IN (SELECT trace_id, call FROM of_calls)) c
    JOIN leaves l ON l.trace_id = c.trace_id AND l.step_id = c.step_id AND l.side = 'output'
    SEMI JOIN of_calls u ON u.trace_id = c.trace_id AND u.subject = hash('call', c.call, l.path)
    UNION ALL
    SELECT t.trace_id, hash(s.key, s.mine, s.theirs, list_filter(t.ids, lambda id: list_contains(s.names, id.key))), t.step_id, t.seq, t.path, t.type, t.value
    FROM told t JOIN shared s ON s.trace_id = t.trace_id AND s.key = t.key AND s.theirs = t.names
  ) GROUP BY trace_id, subject, step_id, seq
), in_turn AS (
  -- The last word on a subject before each use counts; a join with all between source and use would be a product.
  SELECT *, max(answer) OVER (PARTITION BY trace_id, subject ORDER BY seq, answer IS NOT NULL) AS newer
  FROM (SELECT *, NULL AS answer FROM uses
    UNION ALL BY NAME SELECT trace_id, subject, seq, {'seq': seq, 'step_id': step_id, 'said': said} AS answer FROM answers)
), newer AS (
  SELECT trace_id, step_id, path, newer.step_id AS newer_step, newer.seq AS newer_seq, newer.said.path AS newer_path, newer.said.value AS newer_value, value
  FROM in_turn WHERE answer IS NULL AND newer.seq > origin_seq
), stale AS (
  SELECT f.*, n.newer_step, n.newer_seq, n.newer_path, n.newer_value
  FROM newer n JOIN from_tool f ON f.trace_id = n.trace_id AND f.step_id = n.step_id AND f.path = n.path
  -- The same value may stand elsewhere in the newer output: then nothing says that it is out of date.
  ANTI JOIN leaves w ON w.trace_id = n.trace_id AND w.step_id = n.newer_step AND w.side = 'output' AND w.value = n.value
  QUALIFY row_number() OVER (PARTITION BY f.trace_id, f.step_id ORDER BY n.newer_seq DESC, f.path, n.newer_path, n.newer_value) = 1
)
SELECT s.trace_id, s.step_id AS failed_step, coalesce(a.asked_step, s.step_id) AS cause_step, sure('context.stale_value/newer_output') AS confidence,
  'context.stale_value/newer_output' AS rule,
  'argument ' || replace(s.path, '$.', '') || ' is ' || left(s.value, 80) || ', a newer output says ' || left(s.newer_value, 80) AS message,
  [fact(s.step_id, 'uses the older value', replace(s.path, '$', '$.input'), s.value),
   fact(s.origin_step, 'the older output', replace(s.origin_path, '$', '$.output'), s.value),
   fact(s.newer_step, 'the newer output', replace(s.newer_path, '$', '$.output'), s.newer_value)] AS evidence
FROM stale s LEFT JOIN askers a ON a.trace_id = s.trace_id AND a.step_id = s.step_id
ORDER BY s.trace_id, failed_step;
