-- Whether a tool changes something outside, guessed from its name where nothing is declared.
CREATE OR REPLACE TEMP MACRO changes_by_name(tool) AS coalesce(regexp_matches(lower(tool),
  '(^|[._-])(pay|payment|refund|charge|transfer|send|notify|email|post|create|update|delete|cancel|book|write|submit|insert|remove)([._-]|$)'), false);

-- Whether a tool only tells somebody: that a refund failed can be mailed, and is not made good by it.
CREATE OR REPLACE TEMP MACRO only_tells(tool) AS
  coalesce(regexp_matches(lower(tool), '(^|[._-])(send|notify|email|mail|message|post|reply|inform|alert|log|note|comment)([._-]|$)'), false);

-- Whether an argument names the object of a call: an id, an address, a file; no amount and no date.
CREATE OR REPLACE TEMP MACRO names_object(key, value) AS length(value) BETWEEN 3 AND 200 AND (
  regexp_matches(key, '(?i)(^|_|-)(id|ids|uuid|number|no|ref|reference|order|ticket|invoice|reservation)$|[a-z](Id|ID|Ids|Number|Ref)$') AND regexp_matches(value, '\d')
  OR regexp_matches(key, '(?i)(^|_|-)(path|file|filename|url|to|recipient|email)$')
  OR length(value) <= 64 AND regexp_matches(value, '^[^\s]*\d[^\s]*$') AND regexp_matches(value, '[A-Za-z]') AND NOT regexp_matches(value, '^\d{4}-\d\d-\d\d'));

-- Sentences of a text.
CREATE OR REPLACE TEMP MACRO sentences(said) AS regexp_split_to_array(replace(said, '’', ''''), '[.!?]+(?:\s|$)|[。！？\n]+');

-- Whether a sentence of another language than English says that something was not done.
CREATE OR REPLACE TEMP MACRO gives_up_elsewhere(said) AS regexp_matches(said,
  '\b(konnte|kann|konnten|wurde) [^.]{0,80}\bnicht\b|nicht möglich|fehlgeschlagen|gescheitert|impossible d|n''(ai|a|avons|est) pas (pu|réussi|possible)|a échoué|\bno (pude|he podido|se pudo|fue posible|ha sido posible)|ha fallado|não (consegui|foi possível|pude)|non (sono riuscit|è stato possibile|ho potuto)|niet (gelukt|mogelijk)|не удалось|не смог|невозможно|无法|未能|没能|失败|失敗|できませんでした|できない|실패|수 없');

-- Whether a sentence says that something was not done.
CREATE OR REPLACE TEMP MACRO gives_up(said) AS regexp_matches(said,
  '\b(could(n''t| not)|can(not|''t| not)|unable|not able|not possible|impossible|failed to|g[ai]v(e|ing) up|without success|unsuccessful(ly)?)\b|\b(did|does)(n''t| not) (work|succeed|go through|complete|finish)|\b(has|have|had|was|were)(n''t| not) (yet )?(been )?(able|sent|made|done|[a-z]{3,}ed)\b')
  OR gives_up_elsewhere(said);

-- Whether a sentence says that something was not found out: `you can't go wrong with this hotel` says nothing of a look-up.
CREATE OR REPLACE TEMP MACRO finds_nothing_out(said) AS regexp_matches(said,
  '\b(unable|failed|not possible|impossible) to\b|(n''t|\bnot) able to\b|\b(could|can|did|do)(n''t|not| not) (yet |currently |be )*(get|got|retriev|fetch|access|load|reach|look|connect|complet|finish|verif|determin|obtain|check|find|open|read|search|query|call|use|run|process|perform|provide)')
  OR gives_up_elsewhere(said);

-- Whether a sentence says that nobody answered, or not in time.
CREATE OR REPLACE TEMP MACRO says_away(said) AS regexp_matches(said,
  'timed? ?-?out|time limit|unavailable|not available|unreachable|not respond|n''t respond|no (response|answer|reply)|not answer|n''t answer|offline|\bdown\b|connection|rate.?limit|too many requests|overload|cancel+ed|nicht (erreichbar|verfügbar|geantwortet)|zeitüberschreitung|antwort|indisponible|répond|délai|no (responde|respondió|disponible)|tiempo de espera|indisponível|não respond|non (risponde|disponibile)|не отвеч|недоступ|время ожидания|超时|超時|不可用|没有(响应|回应)|タイムアウト|応答|응답|시간 ?초과');

-- Words of a tool's name by which a sentence speaks of what it does; `refund` stands for `refunded` too.
CREATE OR REPLACE TEMP MACRO tool_words(tool) AS list_filter(regexp_extract_all(lower(regexp_replace(tool, '([a-z])([A-Z])', '\1_\2', 'g')), '[a-z]{4,}'),
  lambda word: word NOT IN ('tool', 'call', 'function', 'data', 'file', 'files', 'code', 'python', 'bash', 'shell', 'execute', 'execution', 'with', 'from', 'user', 'info', 'server', 'client', 'agent', 'read', 'list', 'item', 'items', 'make', 'request', 'http', 'functions'));

-- The words of an error without the name of its class, as far as an answer would repeat them; empty where they are too few to know again.
CREATE OR REPLACE TEMP MACRO error_words(said) AS (
  SELECT CASE WHEN length(w) >= 16 THEN left(w, 40) ELSE '' END
  FROM (SELECT trim(regexp_replace(regexp_replace(lower(said), '^([a-z_][\w.]*:\s*)+', ''), '^[^a-z]+', '')) AS w));

-- One row: a tool call of the run's last attempt that failed for good: the ledger has nothing that settles it, no call around it
-- ended well, and no later call of the same tool, or act of another one on the same object, did it.
CREATE OR REPLACE TEMP TABLE failed_for_good AS
WITH last_attempts AS (
  SELECT trace_id, max(attempt) AS attempt FROM steps WHERE trace_id IN (SELECT trace_id FROM signals WHERE kind = 'tool') GROUP BY trace_id
), failed AS (
  SELECT g.trace_id, g.step_id, g.seq, g.tool_name, g.code, g.shown_by, g.said, s.effect_risk, s.parent_step_id,
    coalesce(s.effect_risk <> 'read', changes_by_name(g.tool_name)) AS changes
  FROM signals g
  JOIN steps s ON s.trace_id = g.trace_id AND s.step_id = g.step_id
  JOIN last_attempts a ON a.trace_id = s.trace_id AND a.attempt = s.attempt
  WHERE g.kind = 'tool' AND g.code NOT IN ('tool.exit_code', 'tool.not_found') AND NOT closes_run(g.tool_name) AND NOT hands_over(g.tool_name)
    AND coalesce(s.effect_status, '') NOT IN ('success', 'compensated', 'skipped')
), objects AS (
  SELECT DISTINCT l.trace_id, l.step_id, l.seq, lower(l.value) AS value FROM leaves l
  SEMI JOIN failed f ON f.trace_id = l.trace_id AND f.step_id = l.step_id
  WHERE l.side = 'input' AND l.type <> 'token' AND names_object(l.key, l.value)
), good_uses AS (
  -- The last good call of each tool on each object: whether one came later is all that counts.
  SELECT o.trace_id, o.value, g.tool_name, max(g.seq) AS seq, NOT only_reads(g.tool_name) AS acts, only_tells(g.tool_name) AS tells
  FROM (SELECT DISTINCT trace_id, value FROM objects) o
  JOIN leaves l ON l.trace_id = o.trace_id AND lower(l.value) = o.value AND l.side = 'input' AND l.type <> 'token'
  JOIN good_calls g ON g.trace_id = l.trace_id AND g.step_id = l.step_id
  GROUP BY o.trace_id, o.value, g.tool_name
), any_uses AS (
  SELECT trace_id, value, max(seq) FILTER (acts) AS acted, max(seq) FILTER (acts AND NOT tells) AS did, max(seq) FILTER (NOT tells) AS looked
  FROM good_uses GROUP BY trace_id, value
), by_object AS (
  SELECT f.trace_id, f.step_id,
    bool_or(same.seq > f.seq OR CASE WHEN only_tells(f.tool_name) THEN u.acted ELSE u.did END > f.seq) AS done,
    bool_or(u.looked > f.seq) AS looked_at
  FROM failed f JOIN objects o USING (trace_id, step_id)
  JOIN any_uses u ON u.trace_id = o.trace_id AND u.value = o.value
  LEFT JOIN good_uses same ON same.trace_id = o.trace_id AND same.value = o.value AND same.tool_name = f.tool_name
  GROUP BY f.trace_id, f.step_id
), nameless AS (
  SELECT trace_id, step_id FROM failed EXCEPT SELECT trace_id, step_id FROM objects
), same_tool AS (
  SELECT trace_id, tool_name, max(seq) AS seq FROM good_calls GROUP BY trace_id, tool_name
)
SELECT f.*, coalesce(o.looked_at, false) AS looked_at
FROM failed f
LEFT JOIN by_object o ON o.trace_id = f.trace_id AND o.step_id = f.step_id
LEFT JOIN nameless n ON n.trace_id = f.trace_id AND n.step_id = f.step_id
LEFT JOIN same_tool t ON t.trace_id = f.trace_id AND t.tool_name = f.tool_name
LEFT JOIN good_calls around ON around.trace_id = f.trace_id AND around.step_id = f.parent_step_id
WHERE around.step_id IS NULL AND NOT coalesce(o.done, false) AND NOT (n.step_id IS NOT NULL AND coalesce(t.seq > f.seq, false));

-- One row: an act without an answer that nothing settled: nobody looked at its object later, and no person was asked or heard.
CREATE OR REPLACE TEMP TABLE left_open AS
WITH asked AS (
  SELECT trace_id, max(seq) AS seq FROM good_calls WHERE asks_person(tool_name) GROUP BY trace_id
), heard AS (
  SELECT trace_id, max(seq) AS seq FROM messages
  WHERE role IN ('user', 'human') AND call_id IS NULL AND coalesce(text, '') <> '' AND trace_id IN (SELECT trace_id FROM failed_for_good) GROUP BY trace_id
)
SELECT f.trace_id, f.step_id, coalesce('declared ' || f.effect_risk, 'guessed from its name') AS why
FROM failed_for_good f
LEFT JOIN asked a ON a.trace_id = f.trace_id LEFT JOIN heard h ON h.trace_id = f.trace_id
WHERE f.changes AND NOT f.looked_at AND NOT coalesce(a.seq > f.seq, false) AND NOT coalesce(h.seq > f.seq + 1, false)
  AND (f.code IN ('timeout.no_answer', 'timeout.unavailable', 'timeout.rate_limited', 'process.cancelled') OR f.code = 'tool.error' AND f.shown_by = 'status');

-- One row: what a run gave as its answer: the last text of a model, the output of the task, or what a closing call handed over.
CREATE OR REPLACE TEMP TABLE last_answers AS
WITH texts AS (
  SELECT trace_id, step_id, seq, kind, tool_name, parent_step_id,
    CASE kind WHEN 'tool' THEN as_text(input) WHEN 'model' THEN coalesce(nullif(raw, ''), output_text) ELSE output_text END AS said
  FROM steps
  WHERE trace_id IN (SELECT trace_id FROM failed_for_good)
    AND (kind = 'model' OR kind IN ('task', 'agent') AND parent_step_id IS NULL OR kind = 'tool' AND closes_run(tool_name))
)
SELECT trace_id, step_id, seq, kind, right(said, 4000) AS said FROM texts
WHERE regexp_matches(said, '\S') AND NOT (kind = 'model' AND starts_with(said, '[{"call_id"'))
QUALIFY row_number() OVER (PARTITION BY trace_id, kind ORDER BY seq DESC) = 1;

-- Whether a sentence, in lower case, says that a call was not made: by a word of the tool's name, or by that nobody answered where
-- that may be so, or without naming it where nothing else can be meant.
CREATE OR REPLACE TEMP MACRO tells_of(line, words, changes, may_be_away, last_of_all) AS
  (CASE WHEN changes THEN gives_up(line) ELSE finds_nothing_out(line) END) AND (len(list_filter(words, lambda word: regexp_matches(line, '\b' || word))) > 0
    OR may_be_away AND says_away(line)
    OR (changes OR last_of_all) AND regexp_matches(line, '\b(finish|complete|process|proceed|fulfil|perform|carry out|go through|do (that|this|it|what))'))
  OR changes AND regexp_matches(line, '\bfail(ed|s|ure)?\b') AND len(list_filter(words, lambda word: regexp_matches(line, '\b' || word))) > 0;

-- One row: a call that failed for good, and the sentence of the run's answer that says so. A refused call counts only when it was
-- left undone: to refuse by the rules is no failure.
CREATE OR REPLACE TEMP TABLE admitted AS
WITH last_good AS (
  SELECT trace_id, max(seq) AS seq FROM good_calls WHERE NOT asks_person(tool_name) GROUP BY trace_id
), calls AS (
  SELECT f.*, tool_words(f.tool_name) AS words, error_words(f.said) AS error_words,
    f.changes OR starts_with(f.code, 'timeout.') OR f.code = 'process.cancelled' AS may_be_away,
    NOT coalesce(g.seq > f.seq, false) AS last_of_all
  FROM failed_for_good f LEFT JOIN last_good g ON g.trace_id = f.trace_id
  WHERE f.code NOT IN ('tool.rejected', 'parameter.wrong_value')
    OR EXISTS (SELECT 1 FROM left_undone u WHERE u.trace_id = f.trace_id AND u.step_id = f.step_id)
), told AS (
  SELECT c.trace_id, c.step_id, a.step_id AS answer_step, a.seq, a.said,
    c.error_words <> '' AND contains(lower(a.said), c.error_words)
      AND (c.changes OR gives_up(replace(lower(a.said), '’', '''')) OR length(a.said) <= 2 * length(c.said)) AS quoted,
    list_filter(sentences(a.said), lambda line: tells_of(lower(line), c.words, c.changes, c.may_be_away, c.last_of_all))[1] AS line,
    c.error_words
  FROM calls c JOIN last_answers a ON a.trace_id = c.trace_id AND (a.seq > c.seq OR a.kind IN ('task', 'agent'))
)
SELECT trace_id, step_id, arg_max(answer_step, seq) AS answer_step, left(arg_max(coalesce(trim(line), error_words), seq), 300) AS words
FROM told WHERE quoted OR line IS NOT NULL GROUP BY trace_id, step_id;
