-- Adds to `processes` of new lines what {whole} knew before: one row is a process, alive as it was when it was looked at last.
create or replace table processes as
select process_id, min(file) as file, list_sort(list_distinct(flatten(list(files)))) as files, any_value(service order by late) as service,
  any_value(host order by late) as host, any_value(boot_id order by late) as boot_id, any_value(pid order by late) as pid,
  min(started_at) as started_at, max(exited_at) as exited_at, bool_or(alive) as alive
from (select *, 1 as late from processes union all by name select *, 0 as late from {whole}.processes)
group by process_id order by started_at, process_id;
