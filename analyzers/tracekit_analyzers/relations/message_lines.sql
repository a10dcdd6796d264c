-- Makes `log.message_lines`: one row is the first line of a message in its file.
create or replace table log.message_lines as
select file, hash, any_value(role order by rowid) as role, any_value(agent order by rowid) as agent,
  any_value(message order by rowid) as message, any_value(trace_id order by rowid) as trace_id, min(rowid) as n,
  any_value(try_cast(source ->> '$.index' as bigint) order by rowid) as record_index
from lines where record = 'message' and hash is not null group by file, hash, trace_id;
