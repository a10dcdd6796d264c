-- Makes `messages`: one row is a message of a trace, known from the first model step that was sent it.
create or replace table messages as
with sent as (
  select trace_id, file, unnest(context_hashes) as hash, seq from steps where context_hashes is not null
  union all
  select trace_id, null, hash, seq from inherited
), first_sent as (
  select trace_id, hash, min(seq) as seq, min(file) as file from sent group by trace_id, hash
), spoken as (
  -- Some were never sent to a model, such as the last answer: known after the steps written before them.
  select m.trace_id, m.hash, coalesce(s.seq, 0) + 1 as seq, m.file
  from log.message_lines m asof left join steps s on s.trace_id = m.trace_id and s.last_n <= m.n
  where m.trace_id in (select distinct trace_id from steps)
    and not exists (select 1 from first_sent f where f.trace_id = m.trace_id and f.hash = m.hash)
), known as (
  select trace_id, hash, seq, file from first_sent union all select trace_id, hash, min(seq), min(file) from spoken group by trace_id, hash
), matched as (
  select k.trace_id, k.hash, k.seq, m.n, m.role, m.agent, m.message, m.record_index,
    row_number() over (partition by k.trace_id, k.hash order by (m.trace_id = k.trace_id) desc nulls last, (m.file = k.file) desc, m.n) as choice
  from known k join log.message_lines m on m.hash = k.hash
)
select trace_id, hash, row_number() over (partition by trace_id order by seq, n) as pos,
  coalesce(role, message ->> '$.role') as role, coalesce(agent, message ->> '$.name') as agent, message_text(message) as text,
  message, coalesce(message ->> '$.tool_call_id', message ->> '$.content[0].tool_use_id') as call_id, record_index, seq
from matched where choice = 1 order by trace_id, seq, n;
