-- One row: a field whose value is not of its type, with its line.
with numbers as (
  select rowid as n, file, source, field, said from (
    select rowid, file, source, attempt, log_seq as seq, tries, reinfers, duration_ms from lines where record = 'step' and (
      try_cast(attempt as bigint) is null and attempt is not null or try_cast(log_seq as bigint) is null and log_seq is not null
      or try_cast(tries as bigint) is null and tries is not null or try_cast(reinfers as bigint) is null and reinfers is not null
      or as_ms(duration_ms) is null and duration_ms is not null)
  ) unpivot (said for field in (attempt, seq, tries, reinfers, duration_ms))
  where case field when 'duration_ms' then as_ms(said) is null else try_cast(said as bigint) is null end
), times as (
  select rowid as n, file, source, field, said from (
    select rowid, file, source, started_at, finished_at from lines where record = 'step' and (
      as_time(started_at) is null and started_at is not null or as_time(finished_at) is null and finished_at is not null)
  ) unpivot (said for field in (started_at, finished_at)) where as_time(said) is null
), shapes as (
  select rowid as n, file, source, 'record' as field, coalesce(record, '(none)') as said from lines
  where record is null or record not in ('step', 'process', 'message', 'drops')
)
select n, file, try_cast(source ->> '$.line' as bigint) as source_line, n - first_n + 1 as counted_line, field, said
from (select * from numbers union all select * from times union all select * from shapes)
left join log.files using (file) order by n, field;
