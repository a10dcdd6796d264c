-- Adds one row for each line of $files to `narrow_lines`. What is written as a marker was told by the recorder.
insert into narrow_lines
select record, trace_id, step_id, finished_at is not null, case when record = 'step' then
    cast(attempt is not null and try_cast(attempt as bigint) is null and not starts_with(attempt, '{"$tk"') as utinyint)
    + cast(seq is not null and try_cast(seq as bigint) is null and not starts_with(seq, '{"$tk"') as utinyint)
    + cast(tries is not null and try_cast(tries as bigint) is null and not starts_with(tries, '{"$tk"') as utinyint)
    + cast(reinfers is not null and try_cast(reinfers as bigint) is null and not starts_with(reinfers, '{"$tk"') as utinyint)
    + cast(duration_ms is not null and took_ms is null and not starts_with(duration_ms, '{"$tk"') as utinyint)
    + cast(started_at is not null and began is null and not starts_with(started_at, '{"$tk"') as utinyint)
    + cast(finished_at is not null and ended_at is null and not starts_with(finished_at, '{"$tk"') as utinyint)
  else 0 end, {times}, {fields}
from (
  select * replace (coalesce(record, case when step_id is not null or trace_id is not null then 'step' end) as record),
    as_time(started_at) as began, as_time(finished_at) as ended_at, as_ms(duration_ms) as took_ms
  from read_json($files, format = 'newline_delimited', filename = true, maximum_object_size = $line_limit, columns = {
    record: 'VARCHAR', trace_id: 'VARCHAR', step_id: 'VARCHAR', attempt: 'VARCHAR', seq: 'VARCHAR', tries: 'VARCHAR',
    reinfers: 'VARCHAR', started_at: 'VARCHAR', finished_at: 'VARCHAR', duration_ms: 'VARCHAR', {columns}})
);
