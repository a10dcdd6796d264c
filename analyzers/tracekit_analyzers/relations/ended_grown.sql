-- Says of traces of which no line is new that their process has ended by itself meanwhile.
update {whole}.log.traces set ended_by = 'exit'
from (
  select trace_id, arg_max(process_id, seq) as process_id from {whole}.log.steps
  where trace_id not in (select trace_id from part.chosen) group by trace_id
) last join {whole}.processes p on p.process_id = last.process_id
where traces.trace_id = last.trace_id and traces.ended_by is null and p.exited_at is not null;
