-- Makes `origins`: one row is an input leaf and the latest place of one side (output, user, system, assistant) where its value was
-- seen before; no row means that it was seen nowhere. A value that stands in thousands of steps is no product of them: its places
-- are put in the order in which they became known (`turn`: twice the number of a step, odd between two), and each leaf takes the
-- last one before it.
create or replace table origins as
with wanted as materialized (
  select l.trace_id, l.step_id, l.seq, l.path, l.key, l.value, l.known_at is not null as timed,
    2 * l.seq as turn, coalesce(2 * c.asked_seq, 2 * l.seq - 1) as asked_turn, 2 * coalesce(c.asked_seq, l.seq) as heard_turn,
    l.type = 'VARCHAR' and length(l.value) between 3 and 400 as searched
  from leaves l left join call_pairs c on c.trace_id = l.trace_id and c.step_id = l.step_id
  where l.side = 'input' and l.type not in ('BOOLEAN', 'token') and l.value <> ''
), begun as (
  select trace_id, started_at, min(seq) as seq from steps where started_at is not null group by trace_id, started_at
), answering as (
  select trace_id, seq, finished_at from steps where output is not null and kind not in ('model', 'task', 'agent')
), answers as materialized (
  -- A call can use an answer that was there when it began: since steps are numbered by time, all from one step on can. A call
  -- or an answer without a time goes by its number alone.
  select a.trace_id, a.seq, true as timed, 2 * greatest(a.seq + 1, b.seq) as turn
  from answering a asof join begun b on b.trace_id = a.trace_id and b.started_at >= a.finished_at
  union all
  select trace_id, seq, true, 2 * seq + 2 from answering where finished_at is null
  union all
  select trace_id, seq, false, 2 * seq + 2 from answering
), places as (
  -- What a message says stands at `$`, before any path of a step of the same number.
  select trace_id, value, side, seq, min(path) as path, case when count(step_id) = count(*) then min(step_id) end as step_id
  from leaves l semi join wanted w on w.trace_id = l.trace_id and w.value = l.value
  where side in ('output', 'user', 'system', 'assistant') group by trace_id, value, side, seq
), equal as materialized (
  select p.*, timed, true as exact, turn from places p join answers using (trace_id, seq) where side = 'output'
  union all
  select *, null, true, 2 * seq + case when side = 'assistant' and step_id is not null then 1 else 0 end from places where side <> 'output'
), unmatched as materialized (
  select w.* from wanted w anti join (select trace_id, value, side, timed, min(turn) as turn from equal group by all) e
    on e.trace_id = w.trace_id and e.value = w.value and coalesce(e.timed, w.timed) = w.timed
    and e.turn <= case e.side when 'assistant' then w.asked_turn else w.turn end
), sought as materialized (
  select distinct trace_id, value from unmatched where searched
), texts as materialized (
  select trace_id, null as step_id, seq, role as side, lower(text) as text from messages
  where role in ('user', 'system', 'assistant') and text <> '' and trace_id in (select trace_id from sought)
  union all
  select trace_id, step_id, seq, 'output', lower(output_text) from steps
  where output is not null and kind not in ('model', 'task', 'agent')
    -- Most outputs are told by their first byte.
    and case when left(cast(output as varchar), 1) in ('{', '[') then false else json_type(unpacked(output)) is null end
    and trace_id in (select trace_id from sought)
), small as (
  -- Searching every text for every value is a product: only where it stays small.
  select trace_id from (select trace_id, count(*) as n from sought group by trace_id)
  join (select trace_id, count(*) as m, sum(length(text)) as characters from texts group by trace_id) using (trace_id)
  where n * m <= 250000 and n * characters <= 250000000
), hits as (
  select t.trace_id, u.value, t.side, t.seq, '$' as path, min(t.step_id) as step_id
  from (from sought semi join small using (trace_id)) u join texts t on t.trace_id = u.trace_id and contains(t.text, lower(u.value))
  group by all
), inside as (
  select h.*, timed, false as exact, turn from hits h join answers using (trace_id, seq) where side = 'output'
  union all
  select *, null, false, 2 * seq from hits where side <> 'output'
), known as (
  from equal union all from inside
), asked as (
  select w.trace_id, w.step_id, w.seq, w.path, w.key, w.value, k.side, k.timed, k.exact,
    case when k.side <> 'assistant' then w.turn when k.exact then w.asked_turn else w.heard_turn end as by_turn
  from wanted w join (select trace_id, value, side, timed, exact, min(turn) as first_turn from known group by all) k
    on k.trace_id = w.trace_id and k.value = w.value and coalesce(k.timed, w.timed) = w.timed
  left join unmatched u on u.trace_id = w.trace_id and u.step_id = w.step_id and u.path = w.path
  where by_turn >= k.first_turn and k.exact = (u.step_id is null)
), in_turn as (
  -- A window: `asof join` takes five times as long for so many short lists. What became known late is not the latest for that.
  -- Put in order by the hash of a value: it may be a long text, and within one trace no two hashes meet.
  select *, max(place) over (partition by trace_id, hash(value), side, timed, exact order by turn, asks) as latest
  from (
    select trace_id, value, side, timed, exact, turn, false as asks, null as step_id, null as seq, null as path, null as key,
      {'seq': seq, 'path': path, 'step': step_id} as place from known
    union all
    select trace_id, value, side, timed, exact, by_turn, true, step_id, seq, path, key, null from asked
  )
)
select trace_id, step_id, seq, path, key, value, latest.step as origin_step, latest.seq as origin_seq, side as origin_side,
  latest.path as origin_path, exact
from in_turn where asks;
