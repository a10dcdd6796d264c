-- Gives ids to steps that have none: made of the file and the place in it, so that a file gives the same ids each time.
update lines set trace_id = coalesce(lines.trace_id, md5(lines.file)),
  step_id = coalesce(lines.step_id, left(md5(lines.file || ' ' || made.line || ' ' || made.place), 16))
from (
  select n, line, row_number() over (partition by file, line order by n) as place from (
    select l.rowid as n, l.file, coalesce(try_cast(l.source ->> '$.line' as bigint), l.rowid - f.first_n + 1, l.rowid) as line
    from lines l left join log.files f using (file) where l.record = 'step' and (l.trace_id is null or l.step_id is null)
  )
) made where lines.rowid = made.n;
