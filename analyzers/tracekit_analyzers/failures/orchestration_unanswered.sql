-- One row: a call without a result at the end of a trace.
WITH last_models AS (
  SELECT trace_id, max(seq) AS seq FROM steps WHERE kind = 'model' GROUP BY trace_id
), last_failures AS (
  SELECT trace_id, max(seq) AS seq FROM signals GROUP BY trace_id
)
SELECT c.trace_id, coalesce(c.step_id, c.asked_step) AS failed_step, coalesce(c.step_id, c.asked_step) AS cause_step,
  sure('orchestration.unanswered/end_of_trace') AS confidence, 'orchestration.unanswered/end_of_trace' AS rule,
  CASE WHEN asks_person(c.name) THEN 'the run ends with a question to a person that nobody has answered: ' || c.name
    ELSE 'the run ends with ' || coalesce(c.name, 'a call') || ' asked for and never answered' END AS message,
  [fact(c.asked_step, 'asked for ' || coalesce(c.name, 'a call'), '$.raw', c.asked_arguments)] AS evidence
FROM call_pairs c JOIN traces t ON t.trace_id = c.trace_id
LEFT JOIN steps s ON s.trace_id = c.trace_id AND s.step_id = c.step_id
LEFT JOIN last_models m ON m.trace_id = c.trace_id
LEFT JOIN last_failures g ON g.trace_id = c.trace_id
WHERE NOT c.answered AND coalesce(t.ended_by, '') NOT IN ('killed', 'open')
  AND coalesce(s.status, 'unknown') NOT IN ('error', 'running', 'skipped')
  AND (s.step_id IS NULL OR s.duration_ms IS NULL AND s.effect_risk IS NULL)
  AND NOT coalesce(m.seq > c.asked_seq, false)
  -- Nobody answers the call by which an agent ends its run.
  AND NOT closes_run(c.name)
  -- A result of a call that nobody asked for by its id may be this one's.
  AND NOT EXISTS (SELECT 1 FROM call_pairs r WHERE r.trace_id = c.trace_id AND r.name = c.name AND r.asked_step IS NULL AND r.answered)
  -- A sibling that failed ended the run: the rest of its turn was not forgotten but given up.
  AND NOT coalesce(g.seq > c.asked_seq, false)
QUALIFY row_number() OVER (PARTITION BY c.trace_id, c.asked_step ORDER BY c.call_id) = 1
ORDER BY c.trace_id, failed_step;
