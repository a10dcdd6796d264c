-- One row: a call with a scalar that the tool received otherwise than the model wrote it, or did not receive.
WITH texts AS (
  SELECT s.trace_id, s.step_id, coalesce(a.asked_step, s.step_id) AS asked_step, s.tool_name AS name, s.input AS received,
    TRY_CAST(coalesce(s.raw, a.asked_arguments) AS JSON) AS whole
  FROM steps s LEFT JOIN askers a ON a.trace_id = s.trace_id AND a.step_id = s.step_id
  WHERE s.kind = 'tool' AND is_object(s.input) AND starts_with(ltrim(coalesce(s.raw, a.asked_arguments)), '{')
    AND NOT wraps_word_for_word(coalesce(s.raw, a.asked_arguments), s.input::VARCHAR)
), unwrapped AS (
  -- Some agents write the whole call, `{"tool": ..., "args": {...}}`.
  SELECT * EXCLUDE (whole),
    CASE WHEN json_type(whole, '$.args') = 'OBJECT' AND json_type(received, '$.args') IS NULL THEN whole -> '$.args'
         WHEN json_type(whole, '$.arguments') = 'OBJECT' AND json_type(received, '$.arguments') IS NULL THEN whole -> '$.arguments'
         ELSE whole END AS asked
  FROM texts WHERE whole IS NOT NULL
), pairs AS MATERIALIZED (
  -- Without a name in common the text is no argument text of this call.
  SELECT * FROM unwrapped
  WHERE asked::VARCHAR <> received::VARCHAR AND json(asked) <> json(received) AND list_has_any(json_keys(asked), json_keys(received))
), written AS (
  -- A name that stands twice has one path and two values, of which readers of JSON take the last.
  SELECT p.trace_id, p.step_id, t.fullkey AS path, t.atom ->> '$' AS value, t.type,
    count(*) OVER (PARTITION BY p.trace_id, p.step_id, t.fullkey) > 1 AS twice
  FROM pairs p, json_tree(p.asked) t WHERE t.atom IS NOT NULL AND t.type <> 'NULL'
), received AS (
  SELECT p.trace_id, p.step_id, t.fullkey AS path, t.atom ->> '$' AS value
  FROM pairs p, json_tree(p.received) t WHERE t.type NOT IN ('OBJECT', 'ARRAY')
), compared AS (
  SELECT w.trace_id, w.step_id, w.path, w.value AS wrote, w.twice, r.value AS got, r.path IS NULL AS lost
  FROM written w LEFT JOIN received r ON r.trace_id = w.trace_id AND r.step_id = w.step_id AND r.path = w.path
), differing AS (
  SELECT trace_id, step_id, path, wrote, twice, got, lost FROM compared
  WHERE (lost AND wrote <> '')
    OR (wrote IS DISTINCT FROM got
        AND NOT coalesce(TRY_CAST(wrote AS DOUBLE) = TRY_CAST(got AS DOUBLE), false)
        AND lower(trim(wrote)) IS DISTINCT FROM lower(trim(coalesce(got, '')))
        AND NOT starts_with(coalesce(got, ''), '[secret:')
        AND NOT coalesce(TRY_CAST(wrote AS TIMESTAMPTZ) = TRY_CAST(got AS TIMESTAMPTZ), false)
        AND NFC_NORMALIZE(wrote) IS DISTINCT FROM NFC_NORMALIZE(coalesce(got, '')))
), marked AS (
  -- A typed marker stands for a value that the log cannot hold: its place holds no scalar to compare.
  SELECT d.* FROM differing d
  ANTI JOIN (SELECT trace_id, step_id, split_part(path, '."$tk"', 1) AS path FROM received WHERE contains(path, '."$tk"')) r
    ON r.trace_id = d.trace_id AND r.step_id = d.step_id AND r.path = d.path
)
SELECT p.trace_id, p.step_id AS failed_step, p.step_id AS cause_step,
  sure('parameter.altered/' || CASE WHEN bool_and(m.lost) THEN 'lost' ELSE 'changed' END) AS confidence,
  'parameter.altered/' || CASE WHEN bool_and(m.lost) THEN 'lost' ELSE 'changed' END AS rule,
  p.name || CASE WHEN bool_and(m.lost) THEN ' did not receive ' || min(m.path) || ', which the model wrote as ' || min_by(m.wrote, m.path)
    ELSE ' received ' || coalesce(min_by(m.got, m.path) FILTER (NOT m.lost), 'null') || ' at ' || min(m.path) FILTER (NOT m.lost)
      || CASE WHEN min_by(m.twice, m.path) FILTER (NOT m.lost) THEN ', which the model wrote twice, also as ' ELSE ', the model wrote ' END
      || min_by(m.wrote, m.path) FILTER (NOT m.lost) END AS message,
  list(fact(CASE WHEN m.lost THEN p.asked_step ELSE p.step_id END,
            'raw text says ' || CASE WHEN m.twice THEN 'it twice, also ' ELSE '' END || left(m.wrote, 120) || ', the tool received ' || CASE WHEN m.lost THEN 'nothing' ELSE coalesce(left(m.got, 120), 'null') END,
            replace(m.path, '$', '$.input'), coalesce(m.got, m.wrote)) ORDER BY m.path)[:8] AS evidence
FROM pairs p JOIN marked m ON m.trace_id = p.trace_id AND m.step_id = p.step_id
GROUP BY p.trace_id, p.step_id, p.name, p.asked_step
ORDER BY p.trace_id, failed_step;
