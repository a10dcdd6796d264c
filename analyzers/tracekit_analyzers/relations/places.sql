-- Makes `log.places`: one row says where in its file a step or a message is told, so that its line can be read again.
create or replace table log.places as
select l.trace_id, case when l.record = 'message' then l.hash end as hash, l.file,
  coalesce(try_cast(l.source ->> '$.line' as bigint), l.rowid - f.first_n + 1) as line
from lines l left join log.files f using (file) where l.record in ('step', 'message');
