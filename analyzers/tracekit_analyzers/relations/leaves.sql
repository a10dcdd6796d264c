-- Makes `leaves`: one row is a scalar of an input, an output, a raw text or a message; `token` is an id-like word in a free text.
-- `known_at` is the time from which it was known, where the log has times. Every row comes from one step or message by itself,
-- so that a trace larger than memory is gone through by ranges of `seq`: the variables from_seq and to_seq, where they are set.
create or replace table leaves as
with recursive part_steps as not materialized (
  select * from steps where seq between coalesce(getvariable('from_seq'), 0) and coalesce(getvariable('to_seq'), 1::bigint << 60)
), part_messages as (
  select * from messages where seq between coalesce(getvariable('from_seq'), 0) and coalesce(getvariable('to_seq'), 1::bigint << 60)
), written as materialized (
  -- Parsed in a step of its own: a macro that names its argument ten times parses it ten times.
  select trace_id, step_id, seq, started_at, kind, try_cast(raw as json) as body, cast(input as varchar) as received
  from part_steps where kind = 'tool' and not wraps_word_for_word(raw, cast(input as varchar)) and regexp_matches(raw, '^\s*[{\[]')
), asked as materialized (
  select trace_id, step_id, seq, started_at, kind, unwrapped(body) as asked, received from written where body is not null
), documents as (
  select *, case when type in ('OBJECT', 'ARRAY') then type else json_type(body) end as shape, length(body) as size from (
  select trace_id, step_id, seq, started_at as known_at, kind,
    case when kind in ('task', 'agent') then 'user' else 'input' end as side, json_type(input) as type, unpacked(input) as body, as_text(input) as said
  from part_steps where input is not null
  union all
  select trace_id, step_id, seq, finished_at, kind, 'output', json_type(output), unpacked(output), output_text from part_steps
  where output is not null and kind not in ('model', 'task', 'agent')
  union all
  -- Arguments that the tool received as the model wrote them are there already, as its input.
  select trace_id, step_id, seq, started_at, kind, 'raw', null, asked, null from asked where cast(asked as varchar) is distinct from received
  )
), members as materialized (
  -- The members of small objects are taken out one by one: json_tree joins each document with itself, at three times the cost.
  select trace_id, step_id, seq, known_at, side, member.key as key, member.value as value, json_type(member.value) as type
  from (select trace_id, step_id, seq, known_at, side, unnest(members_of(body)) as member from documents
    where shape = 'OBJECT' and size <= 4000)
), large as (
  -- A large document is taken apart level by level until its parts are small: json_tree holds all of it beside each of its nodes.
  select trace_id, step_id, seq, known_at, side, '$' as top, shape as type, body from documents
  where shape in ('OBJECT', 'ARRAY') and size > 4000
  union all
  select trace_id, step_id, seq, known_at, side, top || part.place, json_type(part.value), part.value from (
    select trace_id, step_id, seq, known_at, side, top, unnest(case type
      when 'ARRAY' then list_transform(json_extract(body, '$[*]'), lambda item, n: {'place': '[' || (n - 1) || ']', 'value': item})
      else list_transform(members_of(body), lambda member: {'place': path_step(member.key), 'value': member.value}) end) as part
    from large where type in ('OBJECT', 'ARRAY') and length(body) > 4000)
), nested as (
  select trace_id, step_id, seq, known_at, side, '$' || path_step(key) as top, value as body from members
  where type in ('OBJECT', 'ARRAY')
  union all
  select trace_id, step_id, seq, known_at, side, '$', body from documents where shape = 'ARRAY' and size <= 4000
  union all
  select trace_id, step_id, seq, known_at, side, top, body from large where type in ('OBJECT', 'ARRAY') and length(body) <= 4000
), atoms as (
  select trace_id, step_id, seq, known_at, side, '$' || path_step(key) as path, type, plain(value, type) as value
  from members where type not in ('OBJECT', 'ARRAY', 'NULL')
  union all
  select trace_id, step_id, seq, known_at, side, top, type, plain(body, type) from large where type not in ('OBJECT', 'ARRAY', 'NULL')
  union all
  select n.trace_id, n.step_id, n.seq, n.known_at, n.side, n.top || j.fullkey[2:], j.type, plain(j.atom, j.type)
  from nested n, json_tree(n.body) j where j.type not in ('OBJECT', 'ARRAY', 'NULL')
), scalars as (
  -- What a typed marker holds is a scalar at the marker's own place; the names of its type and class are none.
  select * from (select * replace (case when contains(path, '."$tk".') then regexp_replace(path,
    '\."\$tk"\.(value|fields|items|seconds|base64|text|repr|message|hash|digest)', '', 'g') else path end as path) from atoms)
  where not contains(path, '."$tk".')
), texts as (
  select trace_id, step_id, seq, known_at, side, '$' as path, said as text from documents where body is null and said is not null
  union all
  select trace_id, step_id, seq, known_at, side, path, value from scalars where type = 'VARCHAR' and side <> 'raw' and regexp_matches(value, '[^ ] +[^ ]')
  union all
  select trace_id, null, seq, null, case role when 'developer' then 'system' else role end, '$', text from part_messages
  where role in ('user', 'system', 'developer', 'assistant') and text <> ''
  union all
  select trace_id, step_id, seq, finished_at, 'assistant', '$', coalesce(output_text, raw) from part_steps s
  where kind = 'model' and coalesce(output_text, raw) is not null
    and trace_id not in (select distinct trace_id from messages)
), words as (
  select trace_id, step_id, seq, known_at, side, path, unnest(id_like_words(text)) as word from texts where has_digit_or_at(text)
)
select trace_id, step_id, seq, side, path, without_positions(path) as norm_path, last_name(path) as key, value, type, known_at
from scalars where value is not null
union all
select trace_id, step_id, seq, side, path, without_positions(path), last_name(path),
  coalesce(case when try_cast(word as double) is not null and not (starts_with(word, '0') and length(word) > 1 and word[2] <> '.')
    then plain(to_json(cast(word as double)), 'DOUBLE') end, word), 'token', known_at
from words;
