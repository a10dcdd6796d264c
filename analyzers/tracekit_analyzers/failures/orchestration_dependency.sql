-- One row: a step that started before a step it depends on had ended well; or an act of the run itself after which something
-- else that was wanted could no longer be done: the tool says so (`closed_off`) or the agent does (`regretted`).
WITH needs AS (
  SELECT trace_id, step_id, seq, name, started_at, unnest(depends_on) AS needed FROM steps WHERE len(depends_on) > 0
), acts AS (
  SELECT g.trace_id, g.step_id, g.seq, g.tool_name, coalesce(a.asked_step, g.step_id) AS asked_step
  FROM good_calls g LEFT JOIN askers a USING (trace_id, step_id)
  WHERE NOT only_reads(g.tool_name)
), state_refusals AS (
  -- Whoever was told of a refusal and left it at that wanted it no more.
  SELECT g.trace_id, g.step_id, g.seq, g.tool_name, g.said, state_asked_for(lower(g.said)) AS state
  FROM signals g SEMI JOIN left_undone u ON u.trace_id = g.trace_id AND u.step_id = g.step_id
  WHERE g.kind = 'tool' AND g.code IN ('parameter.wrong_value', 'tool.rejected')
), wanted AS (
  -- One row: an object that a refused call named, in the state that the refusal misses.
  SELECT DISTINCT n.trace_id, n.key, n.value, r.state, r.tool_name
  FROM state_refusals r JOIN named_ids n ON n.trace_id = r.trace_id AND n.step_id = r.step_id WHERE r.state <> ''
), in_state AS (
  -- One row: an output that holds an object beside a state of that name.
  SELECT DISTINCT same.trace_id, same.step_id, same.seq, same.value, before.state, before.path
  FROM (
    SELECT l.trace_id, l.step_id, lower(l.value) AS state, min(l.path) AS path
    FROM leaves l SEMI JOIN wanted w ON w.trace_id = l.trace_id AND w.state = lower(l.value)
    WHERE l.side = 'output' AND regexp_matches(lower(l.key), 'stat(us|e)$') GROUP BY l.trace_id, l.step_id, lower(l.value)
  ) before
  JOIN leaves same ON same.trace_id = before.trace_id AND same.step_id = before.step_id AND same.side = 'output'
  SEMI JOIN wanted w ON w.trace_id = same.trace_id AND w.value = same.value AND w.state = before.state
), first_acts AS (
  -- The first act of another tool on the object after it was in that state: that one ended it.
  SELECT w.*, min({'seq': a.seq, 'step_id': a.step_id, 'asked_step': a.asked_step, 'tool_name': a.tool_name}) AS act
  FROM wanted w
  JOIN (SELECT trace_id, value, state, min(seq) AS seq FROM in_state GROUP BY ALL) i ON i.trace_id = w.trace_id AND i.value = w.value AND i.state = w.state
  JOIN named_ids m ON m.trace_id = w.trace_id AND m.key = w.key AND m.value = w.value AND m.seq > i.seq
  JOIN acts a ON a.trace_id = m.trace_id AND a.step_id = m.step_id AND a.tool_name <> w.tool_name
  GROUP BY ALL
), ended AS (
  SELECT f.trace_id, f.key, f.value, f.state, f.tool_name, any_value(f.act) AS act,
    max({'seq': i.seq, 'step_id': i.step_id, 'path': i.path}) AS before
  FROM first_acts f JOIN in_state i ON i.trace_id = f.trace_id AND i.value = f.value AND i.state = f.state AND i.seq < f.act.seq
  GROUP BY f.trace_id, f.key, f.value, f.state, f.tool_name
), closed_off AS (
  SELECT r.trace_id, r.step_id, r.seq, r.tool_name, r.said, r.state, e.act.step_id AS act, e.act.asked_step AS asked_step,
    e.act.tool_name AS act_tool, n.key, n.value, e.before.step_id AS before_step, e.before.path AS before_path
  FROM state_refusals r JOIN named_ids n ON n.trace_id = r.trace_id AND n.step_id = r.step_id
  JOIN ended e ON e.trace_id = r.trace_id AND e.key = n.key AND e.value = n.value AND e.state = r.state AND e.tool_name = r.tool_name
    AND e.act.seq < r.seq
  QUALIFY row_number() OVER (PARTITION BY r.trace_id, r.step_id ORDER BY e.act.seq, e.before.seq DESC, n.key, n.value) = 1
), words AS (
  SELECT s.trace_id, s.step_id, s.seq, lower(regexp_extract(coalesce(s.raw, s.output_text),
    '(?is)\b(?:unfortunately|sorry|apolog\w+)\b.{0,300}')) AS said
  FROM steps s SEMI JOIN acts k ON k.trace_id = s.trace_id
  WHERE s.kind = 'model' AND regexp_matches(coalesce(s.raw, s.output_text), '(?i)\b(unfortunately|sorry|apolog\w+)\b')
), kinds AS (
  -- What a tool does, by the beginning of the first word of its name.
  SELECT trace_id, left(regexp_extract(lower(tool_name), '[a-z]{4,}'), 5) AS kind, min(seq) AS first_seq FROM acts GROUP BY ALL
), regretful AS (
  -- The first text of a run that names what it did, and says that this cannot be taken back or went further than asked.
  SELECT w.trace_id, min({'seq': w.seq, 'step_id': w.step_id, 'said': w.said}) AS w
  FROM words w JOIN kinds k ON k.trace_id = w.trace_id AND w.seq > k.first_seq + 1 AND contains(w.said, k.kind)
  WHERE regexp_matches(w.said, '(has|have|was|were) already been|can (no longer|only be used once)|cannot be undone|cannot be reversed|\bentire\b.{0,80}(has|have|was|were|gets?) |as a result, the (entire|whole)')
    AND NOT regexp_matches(w.said, 'already been (sent|provided|given|told)')
  GROUP BY w.trace_id
), regretted AS (
  SELECT r.trace_id, w.step_id AS step_id, w.seq AS seq, w.said AS said, a.step_id AS act, a.asked_step, a.tool_name AS act_tool
  FROM regretful r JOIN acts a ON a.trace_id = r.trace_id AND w.seq > a.seq + 1
    AND contains(w.said, left(regexp_extract(lower(a.tool_name), '[a-z]{4,}'), 5))
  QUALIFY row_number() OVER (PARTITION BY r.trace_id ORDER BY a.seq DESC) = 1
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
UNION ALL
SELECT c.trace_id, c.step_id, c.asked_step, sure('orchestration.dependency/closed_off'), 'orchestration.dependency/closed_off',
  c.tool_name || ' could no longer be done: ' || c.act_tool || ', which this run did before, had ended the state ' || c.state,
  [fact(c.step_id, 'it was refused', '$.output', c.said),
   fact(c.before_step, 'before that the state was', replace(c.before_path, '$', '$.output'), c.state),
   fact(c.act, 'the act of this run on the same object', '$.input', c.key || ' ' || c.value)]
FROM closed_off c
UNION ALL
SELECT r.trace_id, r.step_id, r.asked_step, sure('orchestration.dependency/regretted'), 'orchestration.dependency/regretted',
  'the agent says that what ' || r.act_tool || ' did cannot be taken back or went further than was asked',
  [fact(r.step_id, 'its own words', '$.raw', r.said), fact(r.act, 'the act', NULL, r.act_tool)]
FROM regretted r ANTI JOIN closed_off c ON c.trace_id = r.trace_id
ORDER BY trace_id, failed_step;
