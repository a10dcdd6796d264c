-- One row: in a talk where one agent gives others their orders (steps named `Leader (-> Worker)`), the early answer that
-- holds least of what its order and the user's task ask for. Later answers rest on earlier ones, so only the first few count.
CREATE OR REPLACE TEMP TABLE unanswered AS
WITH orders AS (
  SELECT trace_id, step_id, seq, regexp_extract(name, '->\s*([^()]+)\)', 1) AS worker, coalesce(raw, output_text) AS text
  FROM steps WHERE kind = 'model' AND contains(name, '(->')
), tasks AS (
  SELECT m.trace_id, arg_min(m.text, m.pos) AS text
  FROM messages m SEMI JOIN orders o ON o.trace_id = m.trace_id WHERE m.role IN ('user', 'human') GROUP BY m.trace_id
), answers AS (
  SELECT s.trace_id, s.step_id, s.seq, s.agent, coalesce(s.raw, s.output_text) AS text
  FROM steps s SEMI JOIN orders o ON o.trace_id = s.trace_id AND o.worker = s.agent WHERE s.kind = 'model'
), ordered AS (
  SELECT a.trace_id, a.step_id, a.seq, a.agent, a.text, o.step_id AS order_step, o.text AS order_text
  FROM answers a ASOF JOIN orders o ON a.trace_id = o.trace_id AND a.agent = o.worker AND a.seq > o.seq
), words AS (
  SELECT d.* EXCLUDE (text, order_text), left(d.order_text, 300) AS asked,
    list_distinct(regexp_extract_all(lower(d.order_text), '[a-z]{5,}|\d{2,}')) AS order_words,
    list_distinct(regexp_extract_all(lower(t.text), '[a-z]{5,}|\d{2,}')) AS task_words,
    list_distinct(regexp_extract_all(lower(d.text), '[a-z]{5,}|\d{2,}')) AS answer_words,
    row_number() OVER (PARTITION BY d.trace_id ORDER BY d.seq) - 1 AS nth
  FROM ordered d JOIN tasks t ON t.trace_id = d.trace_id
), shares AS (
  SELECT trace_id, step_id, seq, agent, order_step, asked, nth,
    len(list_intersect(order_words, answer_words)) / greatest(1, len(order_words)) AS of_order,
    len(list_intersect(task_words, answer_words)) / greatest(1, len(task_words)) AS of_task
  FROM words WHERE nth < 5
)
SELECT trace_id, step_id, seq, agent, order_step, asked, of_order, of_task FROM shares
WHERE of_order < 0.9
QUALIFY row_number() OVER (PARTITION BY trace_id ORDER BY 0.5 * of_order + 0.5 * of_task + 0.02 * nth, seq) = 1;
