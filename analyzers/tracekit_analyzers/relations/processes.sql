-- Makes `processes`: one row is a process that wrote a native log. `alive` is set afterwards, from the lock on its file.
create or replace table processes as
select process_id, min(file) as file, list(distinct file order by file) as files, any_value(service) as service,
  any_value(host) as host, any_value(boot_id) as boot_id, any_value(try_cast(pid as integer)) as pid,
  min(as_time(coalesce(started_at, "at"))) as started_at,
  max(as_time("at")) filter (where event = 'exit') as exited_at, false as alive
from lines where record = 'process' and process_id is not null
group by process_id order by started_at, process_id;
