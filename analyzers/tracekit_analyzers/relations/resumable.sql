-- One row: the last clean step of a trace. Clean: every step up to it that did not wrap others ended well, its outputs are there,
-- its dependencies are met, its context is complete, and no effect of unknown outcome came before it.
with judged as (
  select s.*, exists (select 1 from steps c where c.trace_id = s.trace_id and c.parent_step_id = s.step_id) as wraps,
    case
      when s.effect_status in ('executed_unknown', 'pending') then 'its effect has no known outcome'
      when s.status = 'running' then 'it was still running when the log ends'
      when s.status = 'unknown' then 'no answer came'
      when s.status = 'error' then 'it ended with an error' || coalesce(': ' || s.error_type, '')
      when s.status = 'abandoned' then 'its answer was not read to the end'
      when s.kind = 'tool' and s.status = 'ok' and s.output is null then 'its output is not in the log'
      when s.context_complete = false then 'its context is not complete'
      when list_has_any(coalesce(s.depends_on, []), (select coalesce(list(d.step_id), []) from steps d
        where d.trace_id = s.trace_id and d.status in ('error', 'unknown', 'running'))) then 'a step that it depends on did not end well'
    end as why
  from steps s
), breaks as (
  select trace_id, min(seq) as first_break from judged where why is not null and not wraps group by trace_id
), clean as (
  select j.trace_id, max(j.seq) as seq from judged j join breaks b using (trace_id)
  where j.seq < b.first_break and not j.wraps and j.kind in ('model', 'tool', 'step') group by j.trace_id
), risky as (
  select j.trace_id, max(case
      when j.effect_risk is not null and j.effect_risk <> 'read' then case when j.effect_idempotent then 1 else 2 end
      when j.effect_risk is null and j.kind = 'tool' and regexp_matches(lower(coalesce(j.tool_name, '')),
        '(^|[._-])(pay|payment|refund|charge|transfer|send|notify|email|post|create|update|delete|cancel|book|write|submit|insert|remove)([._-]|$)') then 2
      else 0 end) as risk
  from judged j join clean c on c.trace_id = j.trace_id and j.seq > c.seq group by j.trace_id
), kept as (
  select j.trace_id, count(*) filter (where j.kind in ('model', 'tool')) as calls,
    sum(coalesce(j.input_tokens, 0) + coalesce(j.output_tokens, 0)) filter (where j.kind = 'model') as tokens,
    sum(j.duration_ms) filter (where j.kind in ('model', 'tool')) / 1000 as seconds
  from judged j join clean c on c.trace_id = j.trace_id and j.seq <= c.seq group by j.trace_id
), reasons as (
  select j.trace_id, list({'step': j.step_id, 'seq': j.seq, 'what': j.why} order by j.seq)[:5] as reasons
  from judged j join clean c on c.trace_id = j.trace_id and j.seq > c.seq
  where j.why is not null and not j.wraps group by j.trace_id
)
select s.trace_id, s.step_id, s.seq, kept.calls, kept.tokens, kept.seconds,
  case coalesce(risky.risk, 0) when 0 then 'none' when 1 then 'low' else 'high' end, reasons.reasons
from clean join steps s on s.trace_id = clean.trace_id and s.seq = clean.seq
join kept on kept.trace_id = s.trace_id left join risky on risky.trace_id = s.trace_id
left join reasons on reasons.trace_id = s.trace_id
order by s.trace_id;
