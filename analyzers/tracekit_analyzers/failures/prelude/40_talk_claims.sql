-- One row: the model step of a talk between agents in which most was stated, or code written, that nothing before it had
-- given. Only where a run is carried by free text: structured calls are judged by the lineage of their arguments.
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
  HAVING count(DISTINCT t.agent) >= 2 AND avg(length(t.text)) >= 150 AND count(*) <= 400
), said AS (
  SELECT x.trace_id, x.step_id, x.seq, x.text, x.seq = t.opening AS opens, regexp_replace(x.text, '(?s)```.*?```', ' ', 'g') AS prose
  FROM texts x JOIN talks t USING (trace_id)
), known AS (
  SELECT trace_id, seq, unnest(regexp_extract_all(text, '\b[A-Z][a-z]{2,}\b|\d[\d,.]*\d|\d')) AS word FROM said
  UNION ALL
  SELECT s.trace_id, s.seq, unnest(regexp_extract_all(left(s.output_text, 20000), '\b[A-Z][a-z]{2,}\b|\d[\d,.]*\d|\d'))
  FROM steps s JOIN talks t USING (trace_id) WHERE s.kind = 'tool'
  UNION ALL
  SELECT m.trace_id, 0, unnest(regexp_extract_all(m.text, '\b[A-Z][a-z]{2,}\b|\d[\d,.]*\d|\d'))
  FROM messages m JOIN talks t ON t.trace_id = m.trace_id WHERE m.role IN ('user', 'system', 'human') AND m.seq <= t.opening
), first_known AS (
  SELECT trace_id, word, min(seq) AS seq FROM known GROUP BY trace_id, word
), new_words AS (
  SELECT p.trace_id, p.step_id, p.seq,
    count(*) FILTER (NOT regexp_matches(p.word, '\d')) AS names, count(*) FILTER (regexp_matches(p.word, '\d')) AS numbers,
    array_to_string(list(p.word ORDER BY p.word)[:20], ', ') AS shown
  FROM (SELECT DISTINCT trace_id, step_id, seq, opens, unnest(regexp_extract_all(prose, '\b[A-Z][a-z]{2,}\b|\d[\d,.]*\d|\d')) AS word FROM said) p
  JOIN first_known f ON f.trace_id = p.trace_id AND f.word = p.word AND f.seq = p.seq
  -- The message that opens a talk brings the task itself: its words are given, only its code is not.
  WHERE NOT p.opens
  GROUP BY p.trace_id, p.step_id, p.seq
), weighed AS (
  SELECT s.trace_id, s.step_id, s.seq, coalesce(n.names, 0) AS names, coalesce(n.numbers, 0) AS numbers, n.shown,
    contains(s.text, '```') AND s.opens AS blind_code,
    regexp_extract(s.text, '(?is)[^.\n]{0,80}\b(?:assum(?:e|es|ing)|hypothetical|placeholder|simulat\w+|fictional|for demonstration|from my knowledge)\b[^.\n]{0,120}') AS own_words,
    1.71 * least(coalesce(n.names, 0), 12) / 12 + 0.33 * least(coalesce(n.numbers, 0), 8) / 8
      + CASE WHEN contains(s.text, '```') AND s.opens THEN 1.75 ELSE 0 END AS weight
  FROM said s LEFT JOIN new_words n ON n.trace_id = s.trace_id AND n.step_id = s.step_id
), chosen AS (
  SELECT w.*, t.closing FROM weighed w JOIN talks t USING (trace_id)
  WHERE w.weight > 0.3
  QUALIFY row_number() OVER (PARTITION BY w.trace_id ORDER BY w.weight DESC, w.seq) = 1
)
SELECT * FROM chosen;
