-- One row: a step that was open when its process ended without a word.
select trace_id, step_id
from log.steps s left join processes p using (process_id)
where s.status = 'running' and ((p.exited_at is null and not p.alive) or coalesce(s.attributes ->> '$."tracekit.ended_by"' = 'killed', false))
order by trace_id, step_id;
