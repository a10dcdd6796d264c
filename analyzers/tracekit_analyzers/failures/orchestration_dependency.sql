-- One row: a step that started before a step it depends on had ended well; or an act of the run itself after which something
-- else that was wanted could no longer be done: the tool says so (`closed_off`) or the agent does (`regretted`).
WITH needs AS (
  SELECT trace_id, step_id, seq, name, started_at, unnest(depends_on) AS needed FROM steps WHERE len(depends_on) > 0
)
, acts AS (
  SELECT g.trace_id, g.step_id, g.seq, g.tool_name, coalesce(a.asked_step, g.step_id) AS asked_step, s.input
  FROM good_calls g JOIN steps s USING (trace_id, step_id) LEFT JOIN askers a USING (trace_id, step_id)
  WHERE NOT only_reads(g.tool_name)
), state_refusals AS (
  -- Whoever was told of a refusal and left it at that wanted it no more.
  SELECT g.trace_id, g.step_id, g.seq, g.tool_name, g.said, state_asked_for(lower(g.said)) AS state
  FROM signals g SEMI JOIN left_undone u ON u.trace_id = g.trace_id AND u.step_id = g.step_id
  WHERE g.kind = 'tool' AND g.code IN ('parameter.wrong_value', 'tool.rejected')
), closed_off AS (
  SELECT r.trace_id, r.step_id, r.seq, r.tool_name, r.said, r.state, a.step_id AS act, a.asked_step, a.seq AS act_seq, a.tool_name AS act_tool,
    n.key, n.value, before.step_id AS before_step, before.path AS before_path
  FROM state_refusals r JOIN named_ids n ON n.trace_id = r.trace_id AND n.step_id = r.step_id
  JOIN named_ids m ON m.trace_id = n.trace_id AND m.key = n.key AND m.value = n.value AND m.seq < r.seq
  JOIN acts a ON a.trace_id = m.trace_id AND a.step_id = m.step_id AND a.tool_name <> r.tool_name
  -- Before the act the object was in the state that is now missed.
  JOIN leaves before ON before.trace_id = r.trace_id AND before.side = 'output' AND before.seq < a.seq
    AND lower(before.value) = r.state AND regexp_matches(lower(before.key), 'stat(us|e)$')
  JOIN leaves same ON same.trace_id = r.trace_id AND same.step_id = before.step_id AND same.side = 'output' AND same.value = n.value
  WHERE r.state <> ''
  QUALIFY row_number() OVER (PARTITION BY r.trace_id, r.step_id ORDER BY a.seq, before.seq DESC, n.key) = 1
), words AS (
  SELECT s.trace_id, s.step_id, s.seq, lower(regexp_extract(coalesce(s.raw, s.output_text),
    '(?is)\b(?:unfortunately|sorry|apolog\w+)\b.{0,300}')) AS said
  FROM steps s SEMI JOIN acts k ON k.trace_id = s.trace_id
  WHERE s.kind = 'model' AND regexp_matches(coalesce(s.raw, s.output_text), '(?i)\b(unfortunately|sorry|apolog\w+)\b')
), regretted AS (
  SELECT w.trace_id, w.step_id, w.seq, w.said, a.step_id AS act, a.asked_step, a.tool_name AS act_tool
  FROM words w JOIN acts a ON a.trace_id = w.trace_id AND w.seq > a.seq + 1
  -- It names what it did, and says that this cannot be taken back or went further than asked.
  WHERE contains(w.said, left(regexp_extract(lower(a.tool_name), '[a-z]{4,}'), 5))
    AND regexp_matches(w.said, '(has|have|was|were) already been|can (no longer|only be used once)|cannot be undone|cannot be reversed|\bentire\b.{0,80}(has|have|was|were|gets?) |as a result, the (entire|whole)')
    AND NOT regexp_matches(w.said, 'already been (sent|provided|given|told)')
  QUALIFY row_number() OVER (PARTITION BY w.trace_id ORDER BY w.seq, a.seq DESC) = 1
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
