-- Makes `call_pairs`: one row is a tool call, as the model asked for it and as it ran, without what the tool received and answered.
create or replace table call_pairs as
with asked as (
  select trace_id, step_id as asked_step, seq as asked_seq, parent_step_id as asked_parent, unnest(from_json(asked, '["json"]')) as call
  from steps where json_type(asked) = 'ARRAY'
), named as (
  select trace_id, asked_step, asked_seq, asked_parent, call ->> '$.call_id' as call_id, call ->> '$.name' as name,
    as_text(call -> '$.arguments') as arguments, row_number() over (partition by trace_id, asked_step) as place,
    coalesce(call ->> '$.call_id', asked_step || '/' || place) as key
  from asked
), tools as (
  select trace_id, step_id, call_id, tool_name, parent_step_id, seq, status, raw, output is not null as has_output
  from steps where kind = 'tool'
), open_asked as (
  select *, json(try_cast(arguments as json))::varchar as said from named a
  where name is not null and not exists (select 1 from tools t where t.trace_id = a.trace_id and t.call_id = a.call_id)
), open_tools as (
  -- Spans of tools often carry no call id. Only the last model step before that asked for the tool can have meant it.
  select t.trace_id, t.step_id, t.parent_step_id, t.tool_name, json(coalesce(try_cast(s.raw as json), s.input))::varchar as received, t.seq, a.asked_seq
  from (select * from tools where call_id is null) t
  asof join (select distinct trace_id, name, asked_seq from open_asked) a
    on a.trace_id = t.trace_id and a.name = t.tool_name and a.asked_seq < t.seq
  join steps s on s.trace_id = t.trace_id and s.step_id = t.step_id
), lent as (
  -- The same arguments: the first of its kind is the first of its kind.
  select t.trace_id, t.step_id, a.key
  from (select *, row_number() over (partition by trace_id, asked_seq, tool_name, received order by seq) as nth from open_tools) t
  join (select *, row_number() over (partition by trace_id, asked_seq, name, said order by place) as nth from open_asked) a
    on a.trace_id = t.trace_id and a.asked_seq = t.asked_seq and a.name = t.tool_name and a.said = t.received and a.nth = t.nth
  union all
  -- Other arguments: only where both are the only ones of that name, and stand side by side.
  select t.trace_id, t.step_id, a.key
  from (select * from open_tools qualify count(*) over (partition by trace_id, asked_seq, tool_name) = 1) t
  join (select * from open_asked qualify count(*) over (partition by trace_id, asked_seq, name) = 1) a
    on a.trace_id = t.trace_id and a.asked_seq = t.asked_seq and a.name = t.tool_name
  where a.said is distinct from t.received and t.parent_step_id in (a.asked_step, a.asked_parent)
), asked_calls as (
  select *, row_number() over (partition by trace_id, key order by asked_seq) as occurrence from named
), tool_calls as (
  select t.*, coalesce(t.call_id, l.key) as key,
    case when coalesce(t.call_id, l.key) is not null then row_number() over (partition by t.trace_id, coalesce(t.call_id, l.key) order by t.seq) end as occurrence
  from tools t left join lent l on l.trace_id = t.trace_id and l.step_id = t.step_id
), paired as (
  select coalesce(a.trace_id, t.trace_id) as trace_id, coalesce(a.call_id, t.call_id) as call_id,
    coalesce(a.name, t.tool_name) as name, a.asked_step, a.asked_seq, case when a.asked_step is null then t.parent_step_id else a.asked_parent end as beside,
    coalesce(a.arguments, t.raw) as asked_arguments, t.step_id, t.seq, t.status, coalesce(t.status in ('ok', 'error') or t.has_output, false) as answered
  from asked_calls a full join tool_calls t on a.trace_id = t.trace_id and a.key = t.key and a.occurrence = t.occurrence
), next_model as (
  select p.trace_id, p.call_id, p.asked_seq, min(m.seq) as seq
  from (select trace_id, call_id, asked_seq, coalesce(beside, '') as beside from paired where asked_seq is not null) p
  asof join (select trace_id, seq, coalesce(parent_step_id, '') as beside from steps where kind = 'model' and context_digest is not null) m
    on m.trace_id = p.trace_id and m.beside = p.beside and m.seq > p.asked_seq
  group by all
), results as (
  select trace_id, call_id, min(seq) as seq from messages where call_id is not null group by all
)
select p.trace_id, p.call_id, p.name, p.asked_step, p.asked_seq, p.asked_arguments, p.step_id, p.seq, p.status, p.answered,
  case when n.seq is not null then coalesce(r.seq <= n.seq, false) end as in_next_context
from paired p
left join next_model n on n.trace_id = p.trace_id and n.call_id = p.call_id and n.asked_seq = p.asked_seq
left join results r on r.trace_id = p.trace_id and r.call_id = p.call_id;
