-- Makes `calls`: one row is a tool call, as the model asked for it and as the tool received it.
create or replace view calls as
select p.trace_id, p.call_id, p.name, p.asked_step, p.asked_seq, p.asked_arguments, p.step_id, p.seq, s.input, s.output,
  p.status, p.answered, p.in_next_context
from call_pairs p left join steps s on s.trace_id = p.trace_id and s.step_id = p.step_id;
