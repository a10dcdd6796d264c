-- One row: a call whose result is not in the next model call of the conversation that asked for it.
WITH asked AS (
  SELECT c.trace_id, c.call_id, c.name, c.asked_step, c.asked_seq, c.step_id, c.answered, c.in_next_context, coalesce(m.agent, '') AS agent,
    coalesce(m.parent_step_id, '') AS beside
  FROM call_pairs c JOIN steps m ON m.trace_id = c.trace_id AND m.step_id = c.asked_step
  -- A log that holds no answer of any tool does not record them.
  WHERE NOT c.answered AND c.in_next_context IS DISTINCT FROM true
      -- A result of a call that nobody asked for by its id may be this one's.
      AND NOT EXISTS (SELECT 1 FROM call_pairs r WHERE r.trace_id = c.trace_id AND r.name = c.name AND r.asked_step IS NULL AND r.answered)
      AND m.file IN (SELECT file FROM steps WHERE kind = 'tool' AND output_text IS NOT NULL)
    -- Where no message names the call that it answers, results are told in another way and nothing can be said.
    OR c.in_next_context = false AND c.trace_id IN (SELECT m.trace_id FROM messages m WHERE m.call_id IS NOT NULL)
), in_order AS (
  -- The next model step after each call; a join with all after it would be a product.
  SELECT *, min(model) OVER (PARTITION BY trace_id, agent, beside ORDER BY asked_seq DESC, model IS NOT NULL) AS next_model
  FROM (SELECT *, NULL AS model FROM asked WHERE call_id IS NOT NULL
    UNION ALL BY NAME SELECT trace_id, seq AS asked_seq, coalesce(agent, '') AS agent, coalesce(parent_step_id, '') AS beside,
      {'seq': seq, 'step_id': step_id} AS model FROM steps WHERE kind = 'model' AND trace_id IN (SELECT trace_id FROM asked))
), went_on AS (
  SELECT *, next_model.step_id AS next_step FROM in_order WHERE model IS NULL AND next_model IS NOT NULL
)
SELECT a.trace_id, a.next_step AS failed_step, coalesce(a.step_id, a.asked_step) AS cause_step,
  sure('context.missing_result/' || CASE WHEN a.answered THEN 'not_sent' ELSE 'never_answered' END) AS confidence,
  'context.missing_result/' || CASE WHEN a.answered THEN 'not_sent' ELSE 'never_answered' END AS rule,
  'the model went on without the result of ' || coalesce(a.name, 'a call') AS message,
  [fact(a.asked_step, 'asked for ' || coalesce(a.name, 'a call'), NULL, a.call_id),
   fact(a.step_id, CASE WHEN a.answered THEN 'answered, but the answer was not passed on' ELSE 'no answer is recorded' END, NULL, NULL),
   fact(a.next_step, 'was sent without that result', NULL, NULL)] AS evidence
FROM went_on a
QUALIFY row_number() OVER (PARTITION BY a.trace_id, a.asked_step, a.next_step ORDER BY a.call_id) = 1
ORDER BY a.trace_id, failed_step;
