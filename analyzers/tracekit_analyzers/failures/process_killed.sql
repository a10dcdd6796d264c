-- One row: the lowest step that was open when its process died.
WITH gone AS (
  SELECT s.trace_id, s.step_id, s.parent_step_id, s.seq, s.kind, s.name, s.tool_name, s.effect_risk, s.started_at, s.attempt, t.ended_by
  FROM steps s JOIN traces t ON t.trace_id = s.trace_id
  WHERE s.status = 'running' AND t.ended_by IS DISTINCT FROM 'open' AND t.ended_by IS DISTINCT FROM 'exit'
), lowest AS (
  SELECT g.* FROM gone g ANTI JOIN gone child ON child.trace_id = g.trace_id AND child.parent_step_id = g.step_id
)
SELECT trace_id, step_id AS failed_step, step_id AS cause_step,
  sure('process.killed/' || CASE ended_by WHEN 'killed' THEN 'writer_gone' ELSE 'open_steps' END) AS confidence,
  'process.killed/' || CASE ended_by WHEN 'killed' THEN 'writer_gone' ELSE 'open_steps' END AS rule,
  'the process ended while ' || coalesce(tool_name, name, kind) || ' was running'
    || CASE WHEN effect_risk IS NOT NULL AND effect_risk <> 'read' THEN ': its outcome is unknown, it may have happened' ELSE '' END AS message,
  [fact(step_id, 'started and never ended', '$.started_at', started_at),
   fact(step_id, CASE ended_by WHEN 'killed' THEN 'no closing line, and nobody holds the log' ELSE 'the log ends with this step open' END, NULL, ended_by)] AS evidence
FROM lowest
QUALIFY row_number() OVER (PARTITION BY trace_id, attempt ORDER BY seq DESC, step_id) = 1
ORDER BY trace_id, failed_step;
