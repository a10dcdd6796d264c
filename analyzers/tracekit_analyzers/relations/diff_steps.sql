-- One row: a step of $trace as two runs are compared. Of a model's output the ids that it gives its calls are taken out:
-- they are new in every run and mean nothing.
select s.step_id, s.seq, s.kind, coalesce(s.tool_name, s.name), s.status, cast(s.input as varchar),
  case when s.kind = 'model' then regexp_replace(coalesce(nullif(s.output_text, ''), s.raw), '"(id|call_id|tool_call_id)":\s*"[^"]*"', '"\1":""', 'g')
    else s.output_text end,
  s.kind not in ('model', 'tool') and exists (select 1 from log.steps c where c.trace_id = s.trace_id and c.parent_step_id = s.step_id)
from log.steps s where s.trace_id = $trace order by s.seq
