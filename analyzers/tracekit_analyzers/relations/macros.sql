-- A time as it may stand in a log: RFC 3339 text, or a number of seconds, milliseconds, microseconds or nanoseconds.
create or replace macro as_time(said) as coalesce(
  case when try_cast(said as double) is not null then try(make_timestamp(cast(
    case when try_cast(said as double) > 1e17 then try_cast(said as double) / 1000
         when try_cast(said as double) > 1e14 then try_cast(said as double)
         when try_cast(said as double) > 1e11 then try_cast(said as double) * 1000
         else try_cast(said as double) * 1000000 end as bigint))) end,
  try(make_timestamp(epoch_us(try_cast(said as timestamptz)))));

-- A JSON null and nothing at all are one: there is no value.
create or replace macro nothing_as_null(value) as case when json_type(value) = 'NULL' then null else value end;

-- Attributes of a step told in two lines: those of the later one win, key by key, and the others stay.
create or replace macro laid_over(below, above) as
  case when below is null or above is null or below = above then coalesce(above, below) else json_merge_patch(below, above) end;

-- The same for any number of lines, each with its place in their order.
create or replace macro laid_in_order(attributes, place) as
  list_reduce(list(attributes order by place) filter (attributes is not null), lambda below, above: laid_over(below, above));

-- What a step that ended with a question to a person asks; null for every other end. A replay that asked for another call than
-- the journal holds waits too.
create or replace macro question_of(error_type, error_message) as case
  when ends_with(error_type, 'RequiresReview') or ends_with(error_type, 'tracekit.errors.Divergence')
  then coalesce(nullif(regexp_extract(error_message, '(?s)waits for a person(?: at)? (.*)$', 1), ''), error_message, 'a question') end;

-- The text that a JSON string holds; any other value as JSON text.
create or replace macro as_text(value) as case when json_type(value) = 'VARCHAR' then value ->> '$' else cast(value as varchar) end;

-- A JSON value with its own text unpacked: a string that is itself an object or a list is taken as that.
create or replace macro unpacked(value) as case
  when json_type(value) in ('OBJECT', 'ARRAY') then value
  when json_type(value) = 'VARCHAR' and (starts_with(ltrim(value ->> '$'), '{') or starts_with(ltrim(value ->> '$'), '['))
    then try_cast(value ->> '$' as json) end;

-- A JSON scalar as text in which equal numbers are equal: 10, 10.0 and "10" alike.
create or replace macro plain(value, type) as case
  when type in ('DOUBLE', 'UBIGINT', 'BIGINT', 'HUGEINT') then coalesce(
    case when abs(try_cast(value as double)) < 1e15 and try_cast(value as double) = trunc(try_cast(value as double))
      then cast(cast(try_cast(value as double) as bigint) as varchar) else cast(try_cast(value as double) as varchar) end, cast(value as varchar))
  when type = 'VARCHAR' then value ->> '$' else cast(value as varchar) end;

-- Words of a free text that may name something: they hold a digit, or an @.
create or replace macro id_like_words(said) as list_distinct(regexp_extract_all(said,
  '[A-Za-z0-9#$_.+@-]*[0-9@][A-Za-z0-9_@.#/:+-]*[A-Za-z0-9]|[A-Za-z#$_.+-]*[0-9]'));

-- Whether there can be such words: looking for single bytes takes a tenth of the time of a pattern.
create or replace macro has_digit_or_at(said) as contains(said, '1') or contains(said, '0') or contains(said, '2') or contains(said, '3')
  or contains(said, '4') or contains(said, '5') or contains(said, '6') or contains(said, '7') or contains(said, '8') or contains(said, '9')
  or contains(said, '@');

-- A JSON path with every position in a list written as [].
create or replace macro without_positions(path) as
  case when contains(path, '[') then regexp_replace(path, '\[[0-9]+\]', '[]', 'g') else path end;

-- The last name of a JSON path; empty where it has none.
create or replace macro last_name(path) as case
  when path = '$' then '$'
  when regexp_full_match(path, '\$\.[A-Za-z0-9_]+') then path[3:]
  else coalesce(regexp_extract(without_positions(path), '([^.\[\]"]+)"?(\[\])*$', 1), '') end;

-- The text of a message in any of the usual shapes: a content text, a list of content blocks, or parts.
create or replace macro message_text(message) as coalesce(
  case when json_type(message) = 'VARCHAR' then message ->> '$' end,
  case when json_type(message, '$.content') = 'VARCHAR' then message ->> '$.content' end,
  nullif(array_to_string(list_filter(list_concat(
    message ->> '$.content[*].text', message ->> '$.parts[*].text', message ->> '$.parts[*].content'), lambda part: part is not null), chr(10)), ''),
  '');

-- Milliseconds as a number; null for what is none, not finite, or longer than 300 years.
create or replace macro as_ms(said) as case when abs(try_cast(said as double)) < 1e13 then try_cast(said as double) end;

-- The arguments in the raw text of a call, as JSON; also where the text wraps them: {"tool": "refund", "args": {...}}.
create or replace macro unwrapped(body) as case
  when json_type(body) <> 'OBJECT' or coalesce(body -> '$.tool', body -> '$.name', body -> '$.tool_name', body -> '$.function') is null then body
  when json_type(body, '$.args') = 'OBJECT' then body -> '$.args'
  when json_type(body, '$.arguments') = 'OBJECT' then body -> '$.arguments'
  when json_type(body, '$.parameters') = 'OBJECT' then body -> '$.parameters'
  else body end;

-- Whether the raw text of a call is just what was received, or wraps it as its last member: the usual case, told without parsing.
create or replace macro wraps_word_for_word(said, received) as coalesce(said = received
  or ends_with(said, '"args":' || received || '}') or ends_with(said, '"arguments":' || received || '}')
  or ends_with(said, '"parameters":' || received || '}'), false);
create or replace macro arguments_of(said) as case
  when starts_with(ltrim(said), '{') or starts_with(ltrim(said), '[') then unwrapped(try_cast(said as json)) end;

-- A key as one step of a JSON pointer.
create or replace macro pointer(key) as '/' || replace(replace(key, '~', '~0'), '/', '~1');

-- A key as one step of a JSON path, quoted as json_tree quotes it.
create or replace macro path_step(key) as case when regexp_full_match(key, '[A-Za-z][A-Za-z0-9_]*') then '.' || key
  else '."' || replace(replace(key, '\', '\\'), '"', '\"') || '"' end;

-- Whether a JSON value is an object; most are told by their first byte, without being parsed.
create or replace macro is_object(value) as
  case when starts_with(cast(value as varchar), '{') then true else coalesce(json_type(value) = 'OBJECT', false) end;

-- The members of a JSON object as a list of `key` and `value`, taken apart once; one that has a key twice is gone through key by key.
create or replace macro members_of(body) as coalesce(map_entries(from_json(body, '"MAP(VARCHAR, JSON)"')),
  list_transform(json_keys(body), lambda key: {'key': key, 'value': json_extract(body, pointer(key))}));

-- A number of things in words: `1 name`, `8 names`.
create or replace macro counted(many, thing) as many || ' ' || thing || case when many = 1 then '' else 's' end;
