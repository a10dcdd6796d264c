-- One row: a tool step with an argument whose latest source is an output that a later output about the same thing has replaced.
WITH latest AS (
  SELECT o.trace_id, o.step_id, o.seq, o.path, o.key, o.value, o.origin_step, o.origin_seq, o.origin_path, o.origin_side
  FROM origins o
  WHERE o.origin_side IS NOT NULL AND o.origin_side <> 'assistant' AND regexp_matches(o.value, '\d') AND length(o.value) >= 2
  QUALIFY row_number() OVER (PARTITION BY o.trace_id, o.step_id, o.path ORDER BY o.origin_seq DESC, o.origin_path) = 1
), from_tool AS (
  SELECT l.*, s.tool_name AS origin_tool, s.input AS origin_input, regexp_extract(l.origin_path, '([^.\[\]"]+)"?$', 1) AS origin_key,
    regexp_replace(l.origin_path, '\.[^.\]]+$', '') AS origin_parent
  FROM latest l JOIN (
    SELECT trace_id, step_id, tool_name, input, lead(seq) OVER (PARTITION BY trace_id ORDER BY seq) AS next_seq FROM steps WHERE kind = 'tool'
  ) s ON s.trace_id = l.trace_id AND s.step_id = l.origin_step
  -- A step between source and use is needed; most uses follow at once and are done with here.
  WHERE l.origin_side = 'output' AND s.next_seq < l.seq
), asked_again AS (
  SELECT f.trace_id, f.step_id, f.path, n.step_id AS newer_step, n.seq AS newer_seq, v.path AS newer_path, v.value AS newer_value
  FROM from_tool f
  JOIN steps n ON n.trace_id = f.trace_id AND n.seq > f.origin_seq AND n.seq < f.seq AND n.kind = 'tool'
    AND n.tool_name = f.origin_tool AND n.input::VARCHAR = f.origin_input::VARCHAR
  JOIN leaves v ON v.trace_id = n.trace_id AND v.step_id = n.step_id AND v.side = 'output' AND v.path = f.origin_path AND v.value <> f.value
), of_things AS (
  -- Values that stand beside an id, and are no id themselves: those of one thing can be told apart from those of another.
  SELECT f.*, regexp_replace(own.path, '\.[^.\]]+$', '') AS own_parent, own.key AS id_key, own.value AS id_value
  FROM from_tool f
  JOIN leaves own ON own.trace_id = f.trace_id AND own.step_id = f.origin_step AND own.side = 'output'
    AND regexp_matches(own.key, '(?i)(^|_)id$|[a-z]Id$') AND regexp_replace(own.path, '\.[^.\]]+$', '') = f.origin_parent
  WHERE NOT regexp_matches(f.origin_key, '(?i)(^|_)ids?$|[a-z]Id$')
), same_thing AS (
  SELECT t.trace_id, t.step_id, t.path, v.step_id AS newer_step, v.seq AS newer_seq, v.path AS newer_path, v.value AS newer_value
  FROM of_things t
  JOIN leaves v ON v.trace_id = t.trace_id AND v.side = 'output' AND v.key = t.origin_key AND v.seq > t.origin_seq AND v.seq < t.seq
  JOIN leaves other ON other.trace_id = v.trace_id AND other.step_id = v.step_id AND other.side = 'output' AND other.key = t.id_key
    AND regexp_replace(other.path, '\.[^.\]]+$', '') = regexp_replace(v.path, '\.[^.\]]+$', '')
  GROUP BY ALL
  -- A thing that shares one id with another, as two orders of one user do, differs in its own.
  HAVING bool_and(other.value = t.id_value) AND any_value(v.value) <> any_value(t.value)
), newer AS (
  SELECT * FROM asked_again UNION SELECT * FROM same_thing
), stale AS (
  SELECT f.*, n.newer_step, n.newer_seq, n.newer_path, n.newer_value
  FROM newer n JOIN from_tool f ON f.trace_id = n.trace_id AND f.step_id = n.step_id AND f.path = n.path
  -- The same value may stand elsewhere in the newer output: then nothing says that it is out of date.
  WHERE NOT EXISTS (SELECT 1 FROM leaves w WHERE w.trace_id = n.trace_id AND w.step_id = n.newer_step AND w.side = 'output' AND w.value = f.value)
  QUALIFY row_number() OVER (PARTITION BY f.trace_id, f.step_id ORDER BY n.newer_seq DESC, f.path, n.newer_path) = 1
)
SELECT s.trace_id, s.step_id AS failed_step, coalesce(a.asked_step, s.step_id) AS cause_step, sure('context.stale_value/newer_output') AS confidence,
  'context.stale_value/newer_output' AS rule,
  'argument ' || replace(s.path, '$.', '') || ' is ' || left(s.value, 80) || ', a newer output says ' || left(s.newer_value, 80) AS message,
  [fact(s.step_id, 'uses the older value', replace(s.path, '$', '$.input'), s.value),
   fact(s.origin_step, 'the older output', replace(s.origin_path, '$', '$.output'), s.value),
   fact(s.newer_step, 'the newer output', replace(s.newer_path, '$', '$.output'), s.newer_value)] AS evidence
FROM stale s LEFT JOIN askers a ON a.trace_id = s.trace_id AND a.step_id = s.step_id
ORDER BY s.trace_id, failed_step;
