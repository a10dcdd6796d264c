-- The time limit of a call as its attributes or its arguments declare it; null where they do not.
CREATE OR REPLACE TEMP MACRO declared_limit_ms(attributes, input) AS coalesce(
  TRY_CAST(attributes ->> '$.timeout_ms' AS DOUBLE), TRY_CAST(input ->> '$.timeout_ms' AS DOUBLE),
  1000 * TRY_CAST(coalesce(attributes ->> '$.timeout_s', attributes ->> '$.timeout', attributes ->> '$.timeout_seconds',
    input ->> '$.timeout_s', input ->> '$.timeout', input ->> '$.timeout_seconds') AS DOUBLE));

-- One row: a model or tool step that shows an error, or another step whose error no step below it shows.
-- `shown_by` says how it is known: `status`, `exit_code`, `body`, `text`; `code` is the failure class that the words decide.
CREATE OR REPLACE TEMP TABLE signals AS
WITH heads AS (
  SELECT trace_id, step_id, seq, kind, tool_name, status, error_type, error_message, error_stack, finish_reason,
    -- A span of an HTTP client says by a number alone how it failed.
    CASE WHEN error_type IS NULL AND error_message IS NULL THEN
      coalesce(attributes ->> '$."http.response.status_code"', attributes ->> '$."http.status_code"') END AS http_status,
         effect_status, output,
         CASE WHEN kind = 'tool' THEN ltrim(left(output_text, 700)) END AS head,
         TRY_CAST(coalesce(attributes ->> 'exit_code', attributes ->> '$."process.exit.code"') AS INTEGER) AS exit_attribute
  FROM steps
  WHERE kind <> 'retry' AND (kind = 'tool' OR status IN ('error', 'unknown'))
), bodies AS (
  SELECT *,
    CASE WHEN status = 'error' OR kind <> 'tool' THEN NULL
         WHEN is_object(output) THEN output
         WHEN starts_with(head, '{') THEN TRY_CAST(output ->> '$' AS JSON) END AS body
  FROM heads
), extracted AS (
  -- One pass over each body: taking every field by itself would parse it again each time.
  SELECT *,
    json_extract_string(body, ['$.error', '$.errors', '$.exception', '$.Error', '$.message', '$.detail', '$.error_description',
      '$.msg', '$.reason', '$.status', '$.statusCode', '$.status_code', '$.http_status', '$.code', '$.result', '$.success',
      '$.ok', '$.is_success', '$.isError', '$.is_error', '$.response', '$.output', '$.content']) AS said_by,
    json_type(body, ['$.error', '$.errors', '$.exception', '$.Error', '$.response', '$.result', '$.output', '$.content']) AS typed
  FROM bodies
), fields AS (
  SELECT * EXCLUDE (said_by, typed),
    coalesce(
      CASE WHEN typed[1] IN ('VARCHAR', 'OBJECT', 'ARRAY') THEN nullif(said_by[1], '') END,
      CASE WHEN typed[2] IN ('VARCHAR', 'OBJECT', 'ARRAY') THEN nullif(said_by[2], '') END,
      CASE WHEN typed[3] = 'VARCHAR' THEN nullif(said_by[3], '') END,
      CASE WHEN typed[4] IN ('VARCHAR', 'OBJECT') THEN nullif(said_by[4], '') END) AS error_field,
    coalesce(said_by[5], said_by[6], said_by[7], said_by[8], said_by[9]) AS message_field,
    coalesce(TRY_CAST(said_by[10] AS INTEGER), TRY_CAST(said_by[11] AS INTEGER), TRY_CAST(said_by[12] AS INTEGER),
             TRY_CAST(said_by[13] AS INTEGER), TRY_CAST(said_by[14] AS INTEGER)) AS status_field,
    lower(coalesce(said_by[10], said_by[15], '')) AS status_word,
    lower(coalesce(said_by[16], said_by[17], said_by[18])) = 'false'
      OR lower(coalesce(said_by[19], said_by[20])) = 'true' AS says_no,
    ltrim(left(coalesce(
      CASE WHEN typed[5] IN ('VARCHAR', 'OBJECT') THEN said_by[21] END, CASE WHEN typed[6] = 'VARCHAR' THEN said_by[15] END,
      CASE WHEN typed[7] = 'VARCHAR' THEN said_by[22] END, CASE WHEN typed[8] = 'VARCHAR' THEN said_by[23] END, ''), 600)) AS inner_head
  FROM extracted
), inner_fields AS (
  SELECT *,
    -- An inner body is often the text form of another language's dictionary, so its keys are read as text.
    CASE WHEN inner_head <> '' THEN regexp_extract(inner_head, '^\{\s*[''"](?:message|error|detail|msg)[''"]\s*:\s*[''"]+(.{1,400}?)[''"]+\s*[,}]', 1) END AS inner_message,
    CASE WHEN inner_head <> '' THEN TRY_CAST(nullif(regexp_extract(inner_head, '^\{\s*[''"](?:status|statusCode|status_code|code)[''"]\s*:\s*[''"]?(\d{3})\b', 1), '') AS INTEGER) END AS inner_status,
    CASE WHEN inner_head <> '' THEN regexp_extract(inner_head, '(?is)<(?:title|h1)>\s*((?:\d{3} )?(?:forbidden|not found|unauthorized|bad request|bad gateway|service unavailable|access denied|error)[^<]{0,80})<', 1) END AS inner_page,
    coalesce(exit_attribute, stated_exit_code(head)) AS exit_code
  FROM fields
), judged AS (
  SELECT *,
    CASE
      -- A run that waits for a person has not failed; what made it ask, if anything did, is told at its own step.
      WHEN kind IN ('task', 'agent') AND question_of(error_type, error_message) IS NOT NULL THEN NULL
      WHEN kind = 'tool' AND exit_code <> 0 THEN 'exit_code'
      WHEN status = 'error' THEN 'status'
      WHEN effect_status = 'executed_unknown' THEN 'status'
      WHEN status = 'unknown' AND error_type IS NOT NULL THEN 'status'
      WHEN kind <> 'tool' THEN NULL
      WHEN exit_attribute = 0 THEN NULL
      WHEN error_field NOT IN ('[]', '{}', 'null', 'none', 'None', 'false') THEN 'body'
      WHEN says_no THEN 'body'
      WHEN status_field BETWEEN 400 AND 599 AND (message_field IS NOT NULL OR len(json_keys(body)) <= 3) THEN 'body'
      WHEN status_word IN ('error', 'failed', 'failure', 'fail') THEN 'body'
      -- What web frameworks answer with when they check a request: a list of places with what is wrong there.
      WHEN len(json_keys(body)) <= 2 AND starts_with(message_field, '[{') AND contains(message_field, '"loc"') AND contains(message_field, '"msg"') THEN 'body'
      WHEN len(json_keys(body)) <= 2 AND speaks_of_failure(lower(left(message_field, 400))) THEN 'body'
      WHEN speaks_of_failure(lower(inner_message)) OR inner_status BETWEEN 400 AND 599 OR inner_page <> '' THEN 'body'
      WHEN inner_head <> '' AND NOT starts_with(inner_head, '{') AND opens_with_error(inner_head) THEN 'body'
      WHEN len(inner_head) BETWEEN 1 AND 160 AND NOT starts_with(inner_head, '{') AND NOT starts_with(inner_head, '[')
           AND speaks_of_failure(lower(inner_head)) THEN 'body'
      WHEN NOT starts_with(head, '{') AND NOT starts_with(head, '[{') AND opens_with_error(head) THEN 'text'
    END AS shown_by
  FROM inner_fields
), said AS MATERIALIZED (
  SELECT trace_id, step_id, seq, kind, tool_name, status, error_type, error_stack, effect_status, exit_code, shown_by,
    left(CASE
      WHEN shown_by = 'status' THEN
        coalesce(nullif(concat_ws(': ', nullif(error_type, ''), nullif(coalesce(error_message, head), '')), ''), 'HTTP status ' || http_status, '')
      WHEN shown_by = 'body' THEN
        coalesce(nullif(concat_ws(' ', CASE WHEN error_field NOT IN ('[]', '{}') THEN error_field END, message_field,
          CASE WHEN status_field BETWEEN 400 AND 599 THEN 'status ' || status_field END), ''),
          nullif(inner_message, ''), nullif(inner_page, ''), nullif(inner_head, ''), head)
      WHEN shown_by = 'exit_code' THEN coalesce(nullif(head, ''), error_message)
      ELSE head END, 500) AS said
  FROM judged WHERE shown_by IS NOT NULL
), lowest AS (
  -- An error that a step below shows as well is told there, once.
  SELECT s.* FROM said s
  WHERE s.kind = 'model' OR NOT EXISTS (
    SELECT 1 FROM steps child JOIN said below ON below.trace_id = child.trace_id AND below.step_id = child.step_id
    WHERE child.trace_id = s.trace_id AND child.parent_step_id = s.step_id)
), worded_ones AS MATERIALIZED (
  SELECT *, worded_code(lower(said)) AS worded FROM lowest
), limits AS (
  -- A cancelled call tells nothing of the time limit that ended it: the step around it does, or how long it took.
  SELECT w.trace_id, w.step_id, CASE
      WHEN says_time_limit(concat_ws(': ', p.error_type, p.error_message)) THEN 'the step around it ended in ' || coalesce(p.error_type, p.error_message)
      WHEN says_time_limit(concat_ws(': ', o.error_type, o.error_message)) THEN 'a step around it ended in ' || coalesce(o.error_type, o.error_message)
      WHEN s.duration_ms BETWEEN 0.95 * declared_limit_ms(s.attributes, s.input) AND 1.25 * declared_limit_ms(s.attributes, s.input) + 200
        THEN 'its time limit was ' || round(declared_limit_ms(s.attributes, s.input))::BIGINT || ' ms' END AS time_limit
  FROM worded_ones w JOIN steps s ON s.trace_id = w.trace_id AND s.step_id = w.step_id
  LEFT JOIN steps p ON p.trace_id = s.trace_id AND p.step_id = s.parent_step_id
  LEFT JOIN steps o ON o.trace_id = p.trace_id AND o.step_id = p.parent_step_id
  WHERE w.kind = 'tool' AND w.worded = 'process.cancelled' AND NOT stopped_by_person(lower(w.said))
), wrongly_called AS MATERIALIZED (
  SELECT w.trace_id, w.step_id, w.seq, w.tool_name FROM worded_ones w JOIN steps s ON s.trace_id = w.trace_id AND s.step_id = w.step_id
  WHERE w.kind = 'tool' AND w.worded = 'parameter.generated' AND wrong_signature(lower(w.said)) AND s.raw IS NULL
    AND NOT EXISTS (SELECT 1 FROM call_pairs c WHERE c.trace_id = w.trace_id AND c.step_id = w.step_id AND c.asked_step IS NOT NULL)
), by_code AS (
  -- Wrong arguments of a call that no model wrote are a mistake of the code. A join, with the few calls held in memory: as a NOT
  -- EXISTS the texts of all model steps of a trace would be, and those of one trace can't be put on disk.
  SELECT trace_id, step_id FROM wrongly_called
  EXCEPT
  SELECT w.trace_id, w.step_id FROM wrongly_called w JOIN (
    SELECT m.trace_id, t.tool_name, min(m.seq) AS seq
    FROM steps m JOIN (SELECT DISTINCT trace_id, tool_name FROM wrongly_called) t ON t.trace_id = m.trace_id
    WHERE m.kind = 'model' AND (contains(coalesce(m.raw, m.output_text), t.tool_name) OR contains(m.asked::VARCHAR, t.tool_name))
    GROUP BY m.trace_id, t.tool_name
  ) named ON named.trace_id = w.trace_id AND named.tool_name = w.tool_name AND named.seq < w.seq
)
SELECT w.* EXCLUDE (worded), l.time_limit, c.step_id IS NOT NULL AS called_by_code,
  CASE
    WHEN l.time_limit IS NOT NULL THEN 'timeout.no_answer'
    WHEN c.step_id IS NOT NULL THEN 'tool.error'
    WHEN (effect_status = 'executed_unknown' OR status = 'unknown') AND coalesce(worded, '') NOT LIKE 'timeout.%' THEN 'timeout.no_answer'
    -- Sent, then lost: nobody was found away, the answer was. A server's own status says more than the line that broke after it.
    WHEN (effect_status = 'executed_unknown' OR status = 'unknown') AND worded = 'timeout.unavailable' AND connection_broke(lower(said))
      AND NOT says_status(lower(said), '5\d\d') THEN 'timeout.no_answer'
    -- The output of a command is full of words: only its exit code and how it was stopped count. 124 is that of `timeout`.
    WHEN shown_by = 'exit_code' THEN
      CASE WHEN exit_code = 124 OR regexp_matches(lower(left(said, 300)), '\b(command|process|execution|script)\b.{0,200}\btimed out|has been killed') THEN 'timeout.no_answer' ELSE 'tool.exit_code' END
    WHEN kind <> 'tool' AND regexp_matches(lower(said), 'jsondecodeerror|outputparser|could not parse|cannot parse|failed to parse|parsing ?error|error in code parsing|unparseable|is not valid json|invalid json')
      THEN 'output.unparseable'
    WHEN kind <> 'tool' AND regexp_matches(lower(said), '^keyerror|missing (required )?(field|key|property)|field required|required (property|field|key)')
      THEN 'output.missing_field'
    -- A client that reads answers as a schema raises on the model's own step; a refused request bears the status of the provider.
    WHEN kind = 'model' AND regexp_matches(lower(said), 'validationerror|validation errors? for ') AND NOT says_status(lower(said), '4\d\d')
      THEN 'output.unparseable'
    WHEN worded IS NOT NULL AND (kind IN ('tool', 'model') OR starts_with(said, 'HTTP status ')
         OR worded SIMILAR TO '(timeout|context|orchestration|process)\..*') THEN
      CASE WHEN kind = 'tool' AND worded = 'output.refused' THEN 'tool.rejected'
           WHEN kind = 'model' AND worded SIMILAR TO '(tool.not_found|tool.rejected|parameter.wrong_value)' THEN 'process.exception'
           ELSE worded END
    WHEN kind <> 'tool' THEN 'process.exception'
    WHEN shown_by = 'body' THEN 'tool.hidden_error'
    WHEN shown_by = 'text' AND regexp_matches(said, '^\W{0,3}(?i:error|erreur|fehler|errore|erro)\W|^[\s\pP]{0,3}(错误|錯誤|エラー|오류|(?i:ошибка))') AND NOT regexp_matches(said, '[A-Za-z](Error|Exception)\b|Traceback') THEN 'tool.rejected'
    ELSE 'tool.error' END AS code
FROM worded_ones w LEFT JOIN limits l ON l.trace_id = w.trace_id AND l.step_id = w.step_id
LEFT JOIN by_code c ON c.trace_id = w.trace_id AND c.step_id = w.step_id;
