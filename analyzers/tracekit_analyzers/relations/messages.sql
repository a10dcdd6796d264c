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
), own as (
  select k.trace_id, k.hash, k.seq, arg_min(m.n, (m.file is distinct from k.file, m.n)) as n
  from known k join log.message_lines m on m.trace_id = k.trace_id and m.hash = k.hash group by k.trace_id, k.hash, k.seq
), others as (
  select * from known k anti join own o on o.trace_id = k.trace_id and o.hash = k.hash
), lines as (
  select file, hash, min(n) as n from log.message_lines where hash in (select hash from others) group by file, hash
), matched as (
  -- Told for the trace itself, else in its file, else anywhere. One prompt may stand in thousands of files: none meets them all.
  from own
  union all
  select o.trace_id, o.hash, o.seq, coalesce(near.n, first.n) from others o
  left join lines near on near.hash = o.hash and near.file = o.file
  join (select hash, min(n) as n from lines group by hash) first on first.hash = o.hash
), placed as (
  -- Numbered while the rows are narrow: all messages of a trace are one partition, which has to fit into memory.
  select trace_id, hash, n, seq, row_number() over (partition by trace_id order by seq, n) as pos from matched
)
select p.trace_id, p.hash, p.pos,
  coalesce(m.role, m.message ->> '$.role') as role, coalesce(m.agent, m.message ->> '$.name') as agent, message_text(m.message) as text,
  m.message, coalesce(m.message ->> '$.tool_call_id', m.message ->> '$.content[0].tool_use_id') as call_id, m.record_index, p.seq
from placed p join log.message_lines m using (n)
where p.seq between coalesce(getvariable('from_seq'), 0) and coalesce(getvariable('to_seq'), 1::bigint << 60)
order by p.trace_id, p.seq, p.n;
