-- One fact of a diagnosis; `value` is cut to what a screen shows.
CREATE OR REPLACE TEMP MACRO fact(at_step, what, at_path, shown) AS
  {'step': at_step::VARCHAR, 'what': what::VARCHAR, 'path': at_path::VARCHAR, 'value': left(shown::VARCHAR, 500)};

-- One row: a tool step with the model step that asked for it and the argument text as it was written.
CREATE OR REPLACE TEMP TABLE askers AS
SELECT c.trace_id, c.step_id, max_by(c.asked_step, c.asked_seq) AS asked_step, max(c.asked_seq) AS asked_seq,
       max_by(c.asked_arguments, c.asked_seq) AS asked_arguments
FROM call_pairs c WHERE c.step_id IS NOT NULL AND c.asked_step IS NOT NULL AND (c.seq IS NULL OR c.asked_seq <= c.seq)
GROUP BY c.trace_id, c.step_id;

-- One row: a step whose own error says in words that it is of the wanted class. The cause is the step itself.
CREATE OR REPLACE TEMP MACRO told(wanted, saying) AS TABLE
SELECT trace_id, step_id AS failed_step, step_id AS cause_step,
  sure(wanted || '/' || shown_by) AS confidence, wanted || '/' || shown_by AS rule,
  coalesce(tool_name, kind) || ' ' || saying || CASE WHEN may_have_happened THEN ' and may have happened all the same' ELSE '' END
    || ': ' || left(said, 160) AS message,
  list_filter([fact(step_id, CASE shown_by WHEN 'status' THEN 'it ended in an error' WHEN 'exit_code' THEN 'it ended with exit code ' || exit_code
        WHEN 'body' THEN 'status ' || status || ', but the body of its answer reports a failure' ELSE 'its answer begins with words of failure' END,
        CASE WHEN shown_by IN ('body', 'text') THEN '$.output' END, said),
   CASE WHEN may_have_happened THEN fact(step_id, 'it was sent and its outcome is unknown: what it does may have happened', '$.status',
     coalesce(effect_status, status)) END], lambda f: f IS NOT NULL) AS evidence
FROM (SELECT *, kind = 'tool' AND (status = 'unknown' OR coalesce(effect_status, '') = 'executed_unknown') AS may_have_happened FROM signals)
WHERE code = wanted;

-- The same, with the model step that wrote the call as the cause.
CREATE OR REPLACE TEMP MACRO told_of_model(wanted, saying) AS TABLE
SELECT t.* EXCLUDE (cause_step, evidence), coalesce(a.asked_step, t.failed_step) AS cause_step,
  CASE WHEN a.asked_arguments IS NULL THEN t.evidence
       ELSE list_append(t.evidence, fact(a.asked_step, 'the model asked with these arguments', '$.raw', a.asked_arguments)) END AS evidence
FROM told(wanted, saying) t LEFT JOIN askers a ON a.trace_id = t.trace_id AND a.step_id = t.failed_step;

-- Whether a tool puts a question to a person.
CREATE OR REPLACE TEMP MACRO asks_person(tool) AS coalesce(regexp_matches(lower(tool), 'ask_?(the_?)?(user|human|person)|(user|human)_?(input|question|approval|feedback)'), false);

-- Whether a tool is the one by which an agent gives its answer; nothing is learned from it.
CREATE OR REPLACE TEMP MACRO closes_run(tool) AS coalesce(regexp_matches(lower(tool), '(^|_)(final|finish|submit|answer|done|terminate)'), false);
