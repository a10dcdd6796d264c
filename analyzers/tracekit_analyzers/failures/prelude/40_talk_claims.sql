-- How much a run rests on one message of a talk, by what it brings in that nothing before it had given: names (past a dozen,
-- more say no more), words of code (past forty), numbers; and by the share of later messages that use what it was the first to state.
CREATE OR REPLACE TEMP MACRO claim_weight(names, numbers, code_words, reliance) AS
  least(names, 12) / 12 + 0.2 * least(numbers, 8) / 8 + 1.5 * least(code_words, 40) / 40 + 0.2 * reliance;

-- One row: a model step of a talk between agents with what it states that nothing before it had given, and how much of what
-- others say later rests on that. `chosen` marks the one on which the run rests most. Only where a run is carried by free text:
-- structured calls are judged by the lineage of their arguments.
CREATE OR REPLACE TEMP TABLE talk_claims AS
WITH texts AS (
  SELECT s.trace_id, s.step_id, s.seq, s.kind, s.agent, coalesce(s.raw, s.output_text) AS text
  FROM steps s WHERE s.kind = 'model' AND length(coalesce(s.raw, s.output_text)) > 0
), talks AS (
  SELECT t.trace_id, min(t.seq) AS opening, max(t.seq) FILTER (length(t.text) >= 80) AS closing
  FROM texts t
  -- With several tools the calls are structured, and what is true comes from them.
  WHERE t.trace_id NOT IN (SELECT trace_id FROM steps WHERE kind = 'tool' GROUP BY trace_id HAVING count(DISTINCT tool_name) > 1)
  GROUP BY t.trace_id
  HAVING (count(DISTINCT t.agent) >= 2 OR count(t.agent) >= 4) AND avg(length(t.text)) >= 150 AND count(*) <= 400
    -- A text that is a JSON value is a call or a record, not talk.
    AND NOT bool_or(regexp_matches(t.text, '^\s*(\[\s*)?\{\s*"'))
), said AS (
  SELECT x.trace_id, x.step_id, x.seq, x.agent, x.text, x.seq = t.opening AS opens,
    list_distinct(regexp_extract_all(regexp_replace(x.text, '(?s)```.*?```', ' ', 'g'), '\b[A-Z][a-z]{2,}\b|\d[\d,.]*\d|\d')) AS prose
  FROM texts x JOIN talks t USING (trace_id)
), mentions AS (
  SELECT trace_id, seq, agent, unnest(list_distinct(regexp_extract_all(text, '\b[A-Z][a-z]{2,}\b|\d[\d,.]*\d|\d'))) AS word FROM said
), known AS (
  SELECT trace_id, seq, word FROM mentions
  UNION ALL
  SELECT s.trace_id, s.seq, unnest(regexp_extract_all(left(s.output_text, 20000), '\b[A-Z][a-z]{2,}\b|\d[\d,.]*\d|\d'))
  FROM steps s JOIN talks t USING (trace_id) WHERE s.kind = 'tool'
  UNION ALL
  SELECT m.trace_id, 0, unnest(regexp_extract_all(m.text, '\b[A-Z][a-z]{2,}\b|\d[\d,.]*\d|\d'))
  FROM messages m JOIN talks t ON t.trace_id = m.trace_id WHERE m.role IN ('user', 'system', 'human') AND m.seq <= t.opening
), first_known AS (
  SELECT trace_id, word, min(seq) AS seq FROM known GROUP BY trace_id, word
), fresh AS (
  -- The message that opens a talk brings the task itself: its words are given. Code is nobody's task.
  SELECT p.trace_id, p.step_id, p.seq, p.agent, p.word
  FROM (SELECT trace_id, step_id, seq, agent, unnest(prose) AS word FROM said WHERE NOT opens) p
  JOIN first_known f ON f.trace_id = p.trace_id AND f.word = p.word AND f.seq = p.seq
), new_words AS (
  SELECT trace_id, step_id,
    count(*) FILTER (NOT regexp_matches(word, '\d')) AS names, count(*) FILTER (regexp_matches(word, '\d')) AS numbers,
    array_to_string(list(word ORDER BY regexp_matches(word, '\d'), word)[:20], ', ') AS shown
  FROM fresh GROUP BY trace_id, step_id
), code_words AS (
  SELECT trace_id, step_id, seq,
    unnest(list_distinct(regexp_extract_all(array_to_string(regexp_extract_all(text, '(?s)```.*?(?:```|$)'), ' '), '[A-Za-z_]\w{3,}'))) AS word
  FROM said WHERE contains(text, '```')
), told_words AS (
  SELECT trace_id, seq, unnest(list_distinct(regexp_extract_all(text, '[A-Za-z_]\w{3,}'))) AS word
  FROM said SEMI JOIN code_words USING (trace_id)
  UNION ALL
  SELECT s.trace_id, s.seq, unnest(list_distinct(regexp_extract_all(left(s.output_text, 20000), '[A-Za-z_]\w{3,}')))
  FROM steps s SEMI JOIN code_words USING (trace_id) WHERE s.kind = 'tool'
  UNION ALL
  SELECT m.trace_id, 0, unnest(regexp_extract_all(m.text, '[A-Za-z_]\w{3,}'))
  FROM messages m JOIN talks t ON t.trace_id = m.trace_id SEMI JOIN code_words c ON c.trace_id = m.trace_id
  WHERE m.role IN ('user', 'system', 'human') AND m.seq <= t.opening
), first_told AS (
  SELECT trace_id, word, min(seq) AS seq FROM told_words GROUP BY trace_id, word
), new_code AS (
  SELECT c.trace_id, c.step_id, count(*) AS words, array_to_string(list(c.word ORDER BY c.word)[:20], ', ') AS shown
  FROM code_words c JOIN first_told f ON f.trace_id = c.trace_id AND f.word = c.word AND f.seq = c.seq
  GROUP BY c.trace_id, c.step_id
), relied AS (
  SELECT f.trace_id, f.step_id, count(DISTINCT m.seq) AS later
  FROM fresh f JOIN mentions m ON m.trace_id = f.trace_id AND m.word = f.word AND m.seq > f.seq AND m.agent IS DISTINCT FROM f.agent
  GROUP BY f.trace_id, f.step_id
), measured AS (
  SELECT s.trace_id, s.step_id, s.seq, t.closing, coalesce(n.names, 0) AS names, coalesce(n.numbers, 0) AS numbers, n.shown,
    coalesce(r.later, 0) AS later, coalesce(c.words, 0) AS code_words, c.shown AS code_shown,
    coalesce(r.later, 0) / greatest(1, max(coalesce(r.later, 0)) OVER (PARTITION BY s.trace_id)) AS reliance,
    regexp_extract(s.text, '(?is)[^.\n]{0,80}\b(?:assum(?:e|es|ing)|hypothetical|placeholder|simulat\w+|fictional|for demonstration|from my knowledge)\b[^.\n]{0,120}') AS own_words
  FROM said s JOIN talks t USING (trace_id) LEFT JOIN new_words n USING (trace_id, step_id)
  LEFT JOIN new_code c USING (trace_id, step_id) LEFT JOIN relied r USING (trace_id, step_id)
), weighed AS (
  SELECT *, claim_weight(names, numbers, code_words, reliance) AS weight,
    claim_weight(0, 0, code_words, 0) > claim_weight(names, numbers, 0, 0) AS by_code FROM measured
)
SELECT *, weight > 0.2 AND row_number() OVER (PARTITION BY trace_id ORDER BY weight DESC, seq) = 1 AS chosen FROM weighed;
