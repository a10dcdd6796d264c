-- One row: a model step on which a run rests though nothing had given what it states: the first of its kind in a trace.
-- In a talk between agents that is the step with the most new names and numbers (prelude/40_talk_claims.sql); an agent that
-- works alone is taken at its first act, when it never got a good answer from any tool, or when what it handed on failed.
WITH acts AS (
  SELECT s.trace_id, s.step_id, s.seq, contains(s.raw, '```') AS has_code, s.raw
  FROM steps s
  WHERE s.kind = 'model' AND s.trace_id NOT IN (SELECT trace_id FROM talk_claims WHERE chosen)
    -- Code counts as an act where what came of it is on record around it; in an answer it is only shown.
    AND (contains(s.raw, '```') AND EXISTS (SELECT 1 FROM steps p WHERE p.trace_id = s.trace_id AND p.step_id = s.parent_step_id
           AND p.kind = 'step' AND coalesce(p.output_text, p.error_message) IS NOT NULL)
         OR EXISTS (SELECT 1 FROM call_pairs c WHERE c.trace_id = s.trace_id AND c.asked_step = s.step_id AND closes_run(c.name)
           -- A bare `finish` hands nothing over that could be wrong, and who says that nothing was found is right.
           AND length(c.asked_arguments) > 2
           AND NOT regexp_matches(lower(c.asked_arguments), 'couldn.{1,6}t (retriev|find|access|get|load|reach)|could not (retriev|find|access|get|load|reach)|unable to (retriev|find|access|get|load|reach)|no data (was )?(found|available)'))
         OR EXISTS (SELECT 1 FROM signals g WHERE g.trace_id = s.trace_id AND g.step_id = s.parent_step_id AND g.kind = 'step'))
), sources AS (
  SELECT s.trace_id,
    count(*) FILTER (s.kind = 'tool') AS tools,
    count(*) FILTER (s.kind = 'tool' AND s.status = 'ok' AND g.step_id IS NULL AND s.output_text IS NOT NULL
      AND NOT closes_run(s.tool_name)) AS good,
    count(*) FILTER (s.kind = 'agent') AS agents, count(g.step_id) AS failures
  FROM steps s LEFT JOIN signals g ON g.trace_id = s.trace_id AND g.step_id = s.step_id
  GROUP BY s.trace_id
), first_failures AS (
  SELECT trace_id, min(seq) AS seq FROM signals WHERE kind = 'tool' GROUP BY trace_id
), alone AS (
  SELECT a.trace_id, a.step_id, a.seq, o.good = 0 AS no_source, o.failures, o.tools,
    regexp_extract(a.raw, '(?is)[^.\n]{0,80}\b(?:simulat\w+|assum(?:e|es|ing)|hypothetical|placeholder|from memory|well.known|is known)\b[^.\n]{0,120}') AS own_words,
    -- Once a look at the data has failed, the step that makes data up weighs more than the look that failed.
    a.seq > f.seq AND regexp_matches(a.raw, '(?i)\bsimulat\w* (its|the|a|an|some|such)? ?(content|data|result|output|file|answer)|\bfabricat\w+|\bmade.up (data|content|result)') AS makes_up
  FROM acts a JOIN sources o USING (trace_id) LEFT JOIN first_failures f USING (trace_id)
  WHERE o.tools >= 1 AND o.good = 0 OR o.agents >= 2 AND o.failures >= 1 AND a.has_code
  QUALIFY row_number() OVER (PARTITION BY a.trace_id ORDER BY coalesce(makes_up, false) DESC, a.seq) = 1
), last_words AS (
  SELECT s.trace_id, max_by(s.step_id, s.seq) AS step_id FROM steps s JOIN alone USING (trace_id) WHERE s.kind = 'model' GROUP BY s.trace_id
)
SELECT c.trace_id AS trace_id, coalesce(e.step_id, c.step_id) AS failed_step, c.step_id AS cause_step,
  sure('output.unfounded/' || CASE WHEN c.by_code THEN 'blind_code' WHEN c.own_words <> '' THEN 'own_words' ELSE 'no_lineage' END) AS confidence,
  'output.unfounded/' || CASE WHEN c.by_code THEN 'blind_code' WHEN c.own_words <> '' THEN 'own_words' ELSE 'no_lineage' END AS rule,
  CASE WHEN c.by_code THEN 'its code brings in ' || counted(c.code_words, 'word') || ' that nothing before had given, and the talk rests on it'
       ELSE counted(c.names, 'name') || ' and ' || counted(c.numbers, 'number') || ' are stated that nothing before had given, and the talk rests on them' END AS message,
  list_filter([
    CASE WHEN c.shown IS NOT NULL THEN fact(c.step_id, 'stated here first, with no source', '$.raw', c.shown) END,
    CASE WHEN c.code_words > 0 THEN fact(c.step_id, 'in its code first, with no source', '$.raw', c.code_shown) END,
    CASE WHEN c.own_words <> '' THEN fact(c.step_id, 'its own words', '$.raw', trim(c.own_words)) END,
    CASE WHEN c.later > 0 THEN fact(c.step_id, c.later || ' later messages of other agents use what it was the first to state', NULL, NULL) END,
    CASE WHEN e.step_id IS NOT NULL THEN fact(e.step_id, 'the last answer of the talk', NULL, NULL) END], lambda f: f IS NOT NULL) AS evidence
FROM talk_claims c
LEFT JOIN steps e ON e.trace_id = c.trace_id AND e.seq = c.closing AND e.kind = 'model' AND e.seq > c.seq
WHERE c.chosen
UNION ALL
SELECT a.trace_id, coalesce(w.step_id, a.step_id), a.step_id,
  sure('output.unfounded/' || CASE WHEN a.no_source THEN 'no_source_used' ELSE 'blind_brief' END),
  'output.unfounded/' || CASE WHEN a.no_source THEN 'no_source_used' ELSE 'blind_brief' END,
  CASE WHEN a.no_source THEN 'the run came to its answer without a good answer from any tool'
       ELSE 'work was handed on before anything had been looked up, and it failed' END,
  list_filter([
    fact(a.step_id, 'the first act, before anything was known', '$.raw', NULL),
    CASE WHEN a.own_words <> '' THEN fact(a.step_id, 'its own words', '$.raw', trim(a.own_words)) END,
    CASE WHEN a.no_source THEN fact(NULL, a.tools || ' calls of tools, none with a good answer', NULL, NULL) END,
    CASE WHEN a.failures > 0 THEN fact(NULL, a.failures || ' steps of this run failed', NULL, NULL) END], lambda f: f IS NOT NULL)
FROM alone a LEFT JOIN last_words w USING (trace_id)
ORDER BY trace_id, failed_step;
