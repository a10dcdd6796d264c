-- Makes `call_pairs`: one row is a tool call, as the model asked for it and as it ran, without what the tool received and answered.
create or replace table call_pairs as
with asked as (
  select trace_id, step_id as asked_step, seq as asked_seq, parent_step_id as asked_parent, unnest(from_json(asked, '["json"]')) as call
  from steps where json_type(asked) = 'ARRAY'
), named as (
  select trace_id, asked_step, asked_seq, asked_parent, call ->> '$.call_id' as call_id, call ->> '$.name' as name,
    as_text(call -> '$.arguments') as arguments,
    row_number() over (partition by trace_id, call ->> '$.call_id' order by asked_seq) as occurrence
  from asked
), tools as (
  select trace_id, step_id, call_id, tool_name, parent_step_id, seq, status, raw, output is not null as has_output,
    case when call_id is not null then row_number() over (partition by trace_id, call_id order by seq) end as occurrence
  from steps where kind = 'tool'
), paired as (
  select coalesce(a.trace_id, t.trace_id) as trace_id, coalesce(a.call_id, t.call_id) as call_id,
    coalesce(a.name, t.tool_name) as name, a.asked_step, a.asked_seq, case when a.asked_step is null then t.parent_step_id else a.asked_parent end as beside,
    coalesce(a.arguments, t.raw) as asked_arguments, t.step_id, t.seq, t.status, coalesce(t.status in ('ok', 'error') or t.has_output, false) as answered
  from named a full join tools t on a.trace_id = t.trace_id and a.call_id = t.call_id and a.occurrence = t.occurrence
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
