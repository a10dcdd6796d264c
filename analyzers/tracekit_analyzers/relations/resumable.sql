-- One row: the last clean step of a trace that failed. Clean: it and every step before it ended well, outputs are there, dependencies
-- are met, contexts are complete, no effect of unknown outcome came before, and it is not what the primary verdict calls the cause.
-- An error that the agent saw and got over is behind it: its answer is known.
with judged as (
  select c.* replace (coalesce(case when r.step_id is null then c.why end, b.what) as why)
  from cleanliness c
  left join verdict_breaks b on b.trace_id = c.trace_id and b.seq = c.seq
  left join recovered_steps r on r.trace_id = c.trace_id and r.step_id = c.step_id
), breaks as (
  select trace_id, min(seq) as first_break from judged where why is not null and not wraps group by trace_id
), clean as (
  select j.trace_id, max(j.seq) as seq from judged j join breaks b using (trace_id)
  where j.seq < b.first_break and not j.wraps and j.kind in ('model', 'tool', 'step') group by j.trace_id
), risky as (
  select j.trace_id, j.step_id, j.seq, j.effect_risk, coalesce(j.tool_name, j.name) as name, case
      when j.effect_risk is not null and j.effect_risk <> 'read' then case when j.effect_idempotent then 1 else 2 end
      when j.effect_risk is null and j.kind = 'tool' and changes_by_name(j.tool_name) then 2
      else 0 end as risk
  from judged j join clean c on c.trace_id = j.trace_id and j.seq > c.seq
  where case when j.effect_status is not null then j.effect_status in ('pending', 'success', 'executed_unknown')
    else j.status not in ('error', 'skipped') end
), risks as (
  select trace_id, max(risk) as risk from risky group by trace_id
), kept as (
  select j.trace_id, count(*) filter (where j.kind in ('model', 'tool')) as calls,
    sum(coalesce(j.input_tokens, 0) + coalesce(j.output_tokens, 0)) filter (where j.kind = 'model') as tokens,
    sum(j.duration_ms) filter (where j.kind in ('model', 'tool')) / 1000 as seconds
  from judged j join clean c on c.trace_id = j.trace_id and j.seq <= c.seq group by j.trace_id
), reasons as (
  select trace_id, list({'step': step_id, 'seq': seq, 'what': why} order by seq, why)[:5] as reasons from (
    select j.trace_id, j.step_id, j.seq, j.why from judged j join clean c on c.trace_id = j.trace_id and j.seq > c.seq
    where j.why is not null and not j.wraps
    union all
    select trace_id, step_id, seq, name || ' may have changed something outside ('
      || coalesce('declared ' || effect_risk, 'guessed from its name') || ')' from risky where risk > 0
  ) group by trace_id
)
select s.trace_id, s.step_id, s.seq, kept.calls, kept.tokens, kept.seconds,
  case coalesce(risks.risk, 0) when 0 then 'none' when 1 then 'low' else 'high' end, reasons.reasons
from clean join steps s on s.trace_id = clean.trace_id and s.seq = clean.seq
join kept on kept.trace_id = s.trace_id left join risks on risks.trace_id = s.trace_id
left join reasons on reasons.trace_id = s.trace_id
order by s.trace_id;
