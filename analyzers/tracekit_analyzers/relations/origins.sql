-- Makes `origins`: one row is an input leaf and one earlier place where its value was seen; no row means that it was seen nowhere.
create or replace table origins as
with wanted as (
  select l.trace_id, l.step_id, l.seq, l.path, l.key, l.value, l.type, l.known_at, c.asked_seq
  from leaves l left join call_pairs c on c.trace_id = l.trace_id and c.step_id = l.step_id
  where l.side = 'input' and l.type not in ('BOOLEAN', 'token') and l.value <> ''
), sources as (
  select trace_id, step_id, seq, side, path, value, known_at from leaves where side in ('output', 'user', 'system', 'assistant')
), equal as (
  select w.trace_id, w.step_id, w.seq, w.path, w.key, w.value, o.step_id as origin_step, o.seq as origin_seq,
    o.side as origin_side, o.path as origin_path, true as exact
  from wanted w join sources o on o.trace_id = w.trace_id and o.value = w.value
  where o.step_id is distinct from w.step_id
    and case o.side when 'output' then o.seq < w.seq and coalesce(o.known_at <= w.known_at, true)
      when 'user' then o.seq <= w.seq when 'system' then o.seq <= w.seq else o.seq < coalesce(w.asked_seq, w.seq) or (o.step_id is null and o.seq = w.asked_seq) end
), unmatched as (
  select w.* from wanted w anti join equal e on e.trace_id = w.trace_id and e.step_id = w.step_id and e.path = w.path
  where w.type = 'VARCHAR' and length(w.value) between 3 and 400
), texts as (
  select trace_id, null as step_id, seq, role as side, '$' as path, text, null as known_at from messages where role in ('user', 'system', 'assistant') and text <> ''
  union all
  select trace_id, step_id, seq, 'output', '$', output_text, finished_at from steps
  where output is not null and kind not in ('model', 'task', 'agent') and json_type(unpacked(output)) is null
), small as (
  -- Searching every text for every value is a product: only where it stays small.
  select trace_id from (select trace_id, count(*) as n from unmatched group by trace_id)
  join (select trace_id, count(*) as m from texts group by trace_id) using (trace_id) where n * m <= 250000
), inside as (
  select u.trace_id, u.step_id, u.seq, u.path, u.key, u.value, t.step_id, t.seq, t.side, t.path, false
  from unmatched u semi join small using (trace_id)
  join texts t on t.trace_id = u.trace_id and contains(lower(t.text), lower(u.value))
    and coalesce(t.known_at <= u.known_at, true)
    and t.seq <= case t.side when 'output' then u.seq - 1 when 'assistant' then coalesce(u.asked_seq, u.seq) else u.seq end
)
select * from equal union all select * from inside;
