-- Whether a call only looks, by its tool's name: a look is no way to get a refused act done.
CREATE OR REPLACE TEMP MACRO only_reads(tool) AS coalesce(regexp_matches(lower(tool),
  '(^|[._-])(get|list|find|search|read|look_?up|fetch|check|calculate|compute|think|view|query|describe|show|count|retrieve)([._-]|$)'), false);

-- Whether a call hands the run over to a person.
CREATE OR REPLACE TEMP MACRO hands_over(tool) AS coalesce(regexp_matches(lower(tool),
  '(transfer|hand_?(over|off)|escalate|forward)\w*_(human|person|operator|support|supervisor)|human_(agent|operator)|ask_human'), false);

-- The state that a refusal, in lower case, asks for: `non-pending order`, `order is not open`; empty where it asks for none.
CREATE OR REPLACE TEMP MACRO state_asked_for(said) AS
  regexp_extract(said, '\b(?:non-|no longer |is not |not |isn''t )([a-z]{4,})\b', 1);

-- One row: an id that a call's arguments name. Only in traces with a refused call.
CREATE OR REPLACE TEMP TABLE named_ids AS
WITH refused AS (
  SELECT DISTINCT trace_id FROM signals
  WHERE kind = 'tool' AND code IN ('tool.rejected', 'tool.not_found', 'parameter.wrong_value', 'parameter.generated')
)
SELECT DISTINCT l.trace_id, l.step_id, l.seq, lower(l.key) AS key, l.value
FROM leaves l SEMI JOIN refused r ON r.trace_id = l.trace_id
WHERE l.side = 'input' AND l.type <> 'token' AND length(l.value) BETWEEN 4 AND 64 AND regexp_matches(l.value, '\d')
  AND regexp_matches(l.key, '(?i)(^|_|-)(id|ids|uuid|number|no|ref|reference|order|ticket|invoice|reservation|file|path)$|[a-z](Id|ID|Ids|Number|Ref)$');

-- One row: a tool call that did what it was asked for.
CREATE OR REPLACE TEMP TABLE good_calls AS
SELECT s.trace_id, s.step_id, s.seq, s.tool_name
FROM steps s ANTI JOIN signals g ON g.trace_id = s.trace_id AND g.step_id = s.step_id
WHERE s.kind = 'tool' AND s.status = 'ok' AND NOT closes_run(s.tool_name) AND NOT hands_over(s.tool_name);

-- One row: a refused call that nothing made good: no later act on the same object, and either the run was handed over to a
-- person, or the arguments were at fault, or nobody answered after the refusal: then the run simply ended with it. A person who
-- was told that a thing is in the wrong state for it, and left it at that, has settled it.
CREATE OR REPLACE TEMP TABLE left_undone AS
WITH refused AS (
  SELECT trace_id, step_id, seq, tool_name, code,
    code = 'parameter.wrong_value' AND state_asked_for(lower(said)) = '' AS wrong_arguments
  FROM signals WHERE kind = 'tool' AND code IN ('tool.rejected', 'tool.not_found', 'parameter.wrong_value')
), same_object AS (
  SELECT n.trace_id, n.key, n.value, max(n.seq) AS seq FROM named_ids n JOIN good_calls g USING (trace_id, step_id)
  WHERE NOT only_reads(g.tool_name) GROUP BY ALL
), by_object AS (
  SELECT r.trace_id, r.step_id, count(*) AS ids, max(o.seq) AS seq
  FROM refused r JOIN named_ids n USING (trace_id, step_id) LEFT JOIN same_object o ON o.trace_id = n.trace_id AND o.key = n.key AND o.value = n.value
  GROUP BY r.trace_id, r.step_id
), same_tool AS (
  SELECT trace_id, tool_name, max(seq) AS seq FROM good_calls GROUP BY trace_id, tool_name
), any_good AS (
  SELECT trace_id, max(seq) AS seq FROM good_calls GROUP BY trace_id
), handed AS (
  SELECT trace_id, max(seq) AS seq FROM steps WHERE kind = 'tool' AND hands_over(tool_name) GROUP BY trace_id
), heard AS (
  SELECT trace_id, max(seq) AS seq FROM messages WHERE role IN ('user', 'human') GROUP BY trace_id
)
SELECT r.trace_id, r.step_id, coalesce(h.seq > r.seq, false) AS handed_over
FROM refused r
LEFT JOIN by_object o ON o.trace_id = r.trace_id AND o.step_id = r.step_id
LEFT JOIN same_tool t ON t.trace_id = r.trace_id AND t.tool_name = r.tool_name
LEFT JOIN any_good a ON a.trace_id = r.trace_id
LEFT JOIN handed h ON h.trace_id = r.trace_id
LEFT JOIN heard u ON u.trace_id = r.trace_id
WHERE NOT coalesce(o.seq > r.seq, false)
  -- What was looked for and not there was got over by any other way that led on; so was a refusal that names no object.
  AND NOT (coalesce(o.ids, 0) = 0 AND coalesce(t.seq > r.seq, false))
  AND NOT ((r.code = 'tool.not_found' OR only_reads(r.tool_name)) AND coalesce(a.seq > r.seq, false))
  AND (coalesce(h.seq > r.seq, false) OR r.wrong_arguments OR NOT coalesce(u.seq > r.seq, false));
