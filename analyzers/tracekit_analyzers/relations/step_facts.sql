-- One row: a step of the named traces as the choice of a primary verdict needs it.
select s.trace_id, s.step_id, s.seq, s.parent_step_id, s.kind, s.tool_name, s.status, u.step_id is not null as left_undone,
  o.why as left_open, a.answer_step, a.words
from steps s left join left_undone u on u.trace_id = s.trace_id and u.step_id = s.step_id
left join left_open o on o.trace_id = s.trace_id and o.step_id = s.step_id
left join admitted a on a.trace_id = s.trace_id and a.step_id = s.step_id
where s.trace_id in (select unnest($traces)) order by s.trace_id, s.seq;
