-- Makes `leaves`: one row is a scalar of an input, an output, a raw text or a message; `token` is an id-like word in a free text.
-- `known_at` is the time from which it was known, where the log has times.
create or replace table leaves as
with documents as (
  select trace_id, step_id, seq, started_at as known_at, kind,
    case when kind in ('task', 'agent') then 'user' else 'input' end as side, unpacked(input) as body, as_text(input) as said
  from steps where input is not null
  union all
  select trace_id, step_id, seq, finished_at, kind, 'output', unpacked(output), output_text from steps
  where output is not null and kind not in ('model', 'task', 'agent')
  union all
  select trace_id, step_id, seq, started_at, kind, 'raw', case when starts_with(ltrim(raw), '{') or starts_with(ltrim(raw), '[') then try_cast(raw as json) end, null
  from steps where kind = 'tool' and raw is not null
), scalars as (
  select d.trace_id, d.step_id, d.seq, d.known_at, d.side, j.fullkey as path, j.key, j.type, plain(j.atom, j.type) as value
  from documents d, json_tree(d.body) j where d.body is not null and j.type not in ('OBJECT', 'ARRAY', 'NULL')
), texts as (
  select trace_id, step_id, seq, known_at, side, '$' as path, said as text from documents where body is null and said is not null
  union all
  select trace_id, step_id, seq, known_at, side, path, value from scalars where type = 'VARCHAR' and side <> 'raw' and contains(trim(value), ' ')
  union all
  select trace_id, null, seq, null, case role when 'developer' then 'system' else role end, '$', text from messages
  where role in ('user', 'system', 'developer', 'assistant') and text <> ''
  union all
  select trace_id, step_id, seq, finished_at, 'assistant', '$', coalesce(output_text, raw) from steps s
  where kind = 'model' and coalesce(output_text, raw) is not null
    and trace_id not in (select distinct trace_id from messages)
), words as (
  select trace_id, step_id, seq, known_at, side, path, unnest(id_like_words(text)) as word from texts
)
select trace_id, step_id, seq, side, path, without_positions(path) as norm_path,
  coalesce(regexp_extract(without_positions(path), '([^.\[\]"]+)"?(\[\])*$', 1), '') as key, value, type, known_at
from scalars where value is not null
union all
select trace_id, step_id, seq, side, path, without_positions(path),
  coalesce(regexp_extract(without_positions(path), '([^.\[\]"]+)"?(\[\])*$', 1), ''),
  coalesce(case when try_cast(word as double) is not null and not (starts_with(word, '0') and length(word) > 1 and word[2] <> '.')
    then plain(to_json(cast(word as double)), 'DOUBLE') end, word), 'token', known_at
from words;
