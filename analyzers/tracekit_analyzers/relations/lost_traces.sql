-- One row: a trace of $traces with a step of a process in whose log lines are missing, and how many are.
with of_file as (
  select file, sum(lines) as lines from log.lost group by file
), of_process as (
  select process_id, sum(lines) as lines from (select process_id, unnest(files) as file from processes) join of_file using (file)
  group by process_id
)
select trace_id, cast(sum(lines) as bigint) from (
  -- A log without a process line stands for its process.
  select distinct s.trace_id, coalesce(p.process_id, f.file) as log, coalesce(p.lines, f.lines) as lines
  from steps s left join of_process p using (process_id) left join of_file f on f.file = s.file
  where s.trace_id in (select unnest($traces)) and (p.process_id is not null or f.file is not null)
) group by trace_id;
