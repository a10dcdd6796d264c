-- One row: a call whose result is not in the next model call of the conversation that asked for it.
WITH asked AS (
  SELECT c.trace_id, c.call_id, c.name, c.asked_step, c.asked_seq, c.step_id, c.answered, c.in_next_context, m.agent, m.parent_step_id
  FROM call_pairs c JOIN steps m ON m.trace_id = c.trace_id AND m.step_id = c.asked_step
  -- A log that holds no answer of any tool does not record them.
  WHERE NOT c.answered AND c.in_next_context IS DISTINCT FROM true
      -- A result of a call that nobody asked for by its id may be this one's.
      AND NOT EXISTS (SELECT 1 FROM call_pairs r WHERE r.trace_id = c.trace_id AND r.name = c.name AND r.asked_step IS NULL AND r.answered)
      AND m.file IN (SELECT file FROM steps WHERE kind = 'tool' AND output_text IS NOT NULL)
    -- Where no message names the call that it answers, results are told in another way and nothing can be said.
    OR c.in_next_context = false AND c.trace_id IN (SELECT m.trace_id FROM messages m WHERE m.call_id IS NOT NULL)
), next_model AS (
  SELECT a.trace_id, a.asked_step, a.call_id, min_by(m.step_id, m.seq) AS next_step
  FROM asked a JOIN steps m ON m.trace_id = a.trace_id AND m.seq > a.asked_seq AND m.kind = 'model'
    AND m.agent IS NOT DISTINCT FROM a.agent AND m.parent_step_id IS NOT DISTINCT FROM a.parent_step_id
  GROUP BY a.trace_id, a.asked_step, a.call_id
)
SELECT a.trace_id, n.next_step AS failed_step, coalesce(a.step_id, a.asked_step) AS cause_step,
  sure('context.missing_result/' || CASE WHEN a.answered THEN 'not_sent' ELSE 'never_answered' END) AS confidence,
  'context.missing_result/' || CASE WHEN a.answered THEN 'not_sent' ELSE 'never_answered' END AS rule,
  'the model went on without the result of ' || coalesce(a.name, 'a call') AS message,
  [fact(a.asked_step, 'asked for ' || coalesce(a.name, 'a call'), NULL, a.call_id),
   fact(a.step_id, CASE WHEN a.answered THEN 'answered, but the answer was not passed on' ELSE 'no answer is recorded' END, NULL, NULL),
   fact(n.next_step, 'was sent without that result', NULL, NULL)] AS evidence
FROM asked a JOIN next_model n USING (trace_id, asked_step, call_id)
QUALIFY row_number() OVER (PARTITION BY a.trace_id, a.asked_step, n.next_step ORDER BY a.call_id) = 1
ORDER BY a.trace_id, failed_step;
