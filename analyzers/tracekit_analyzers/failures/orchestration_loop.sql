-- One row: a stretch of steps that repeats the same operations with the same results for at least three rounds.
WITH operations AS (
  -- Without the texts: what is put in order is narrow.
  SELECT trace_id, step_id, seq, kind, hash(kind, tool_name, agent, input::VARCHAR, output_text, CASE WHEN kind = 'model' THEN raw END) AS operation
  FROM steps
  WHERE kind = 'tool' AND output_text IS NOT NULL AND (input IS NOT NULL OR raw IS NOT NULL)
     OR kind = 'model' AND length(raw) > 20
), compared AS (
  SELECT *, row_number() OVER w AS nth, operation = lag(operation, 1) OVER w AS back_1, operation = lag(operation, 2) OVER w AS back_2,
    operation = lag(operation, 3) OVER w AS back_3
  FROM operations WINDOW w AS (PARTITION BY trace_id, kind ORDER BY seq)
), repeats AS (
  SELECT trace_id, step_id, seq, kind, nth, 1 AS period FROM compared WHERE back_1
  UNION ALL SELECT trace_id, step_id, seq, kind, nth, 2 FROM compared WHERE back_2 AND NOT coalesce(back_1, false)
  UNION ALL SELECT trace_id, step_id, seq, kind, nth, 3 FROM compared WHERE back_3 AND NOT coalesce(back_1, false) AND NOT coalesce(back_2, false)
), islands AS (
  SELECT *, nth - row_number() OVER (PARTITION BY trace_id, kind, period ORDER BY nth) AS island FROM repeats
), loops AS (
  SELECT trace_id, kind, period, min_by(step_id, seq) AS first_repeat, max_by(step_id, seq) AS last_repeat,
    count(*) AS repeated, min(seq) AS from_seq
  FROM islands GROUP BY trace_id, kind, period, island HAVING count(*) >= 2 * period
)
SELECT l.trace_id, last_repeat AS failed_step, first_repeat AS cause_step,
  sure('orchestration.loop/' || CASE WHEN period > 1 THEN 'cycle' WHEN l.kind = 'model' THEN 'same_text' ELSE 'same_result' END) AS confidence,
  'orchestration.loop/' || CASE WHEN period > 1 THEN 'cycle' WHEN l.kind = 'model' THEN 'same_text' ELSE 'same_result' END AS rule,
  coalesce(s.tool_name, s.name, l.kind) || CASE WHEN period > 1 THEN ' stands in a cycle of ' || period || ' operations that ran ' || (repeated // period + 1) || ' times'
    ELSE ' ran ' || (repeated + 1) || ' times in a row with the same result' END AS message,
  [fact(first_repeat, 'the first repetition', CASE l.kind WHEN 'tool' THEN '$.input' ELSE '$.raw' END, left(coalesce(s.input::VARCHAR, s.raw), 200)), fact(last_repeat, 'the last of ' || repeated || ' repetitions', NULL, NULL)] AS evidence
FROM (FROM loops QUALIFY row_number() OVER (PARTITION BY trace_id ORDER BY from_seq, period, kind) = 1) l
JOIN steps s ON s.trace_id = l.trace_id AND s.step_id = l.first_repeat
ORDER BY l.trace_id, failed_step;
