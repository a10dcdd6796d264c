-- One row: a line in which a recorder says that it could not write others before it.
select file, coalesce(try_cast(source ->> '$.line' as bigint), l.rowid - f.first_n + 1) as line,
  greatest(coalesce(try_cast(count as bigint), 0), 0) as lost, reason
from lines l left join log.files f using (file) where record = 'drops' order by l.rowid;
