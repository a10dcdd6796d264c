-- One row: a good call that took far longer than the tool's usual time, before a later step of the trace hit a time limit.
WITH late AS (
  SELECT s.trace_id, s.step_id, s.seq, s.tool_name, s.duration_ms, f.median_ms, f.good_calls,
    (s.duration_ms - f.median_ms) / greatest(1.4826 * coalesce(f.mad_ms, 0), 0.1 * f.median_ms, 1) AS z
  FROM steps s JOIN tool_facts f ON f.tool_name = s.tool_name
  WHERE s.kind = 'tool' AND s.status = 'ok' AND s.duration_ms > 1000 AND f.good_calls >= 8 AND s.duration_ms > 5 * f.median_ms
), limits AS (
  SELECT trace_id, step_id, seq, said FROM signals WHERE code IN ('timeout.no_answer', 'orchestration.limit')
), in_order AS (
  -- The longest call before each limit; a join over all before it would be a product.
  SELECT *, max(call) OVER (PARTITION BY trace_id ORDER BY seq, call IS NOT NULL) AS l
  FROM (SELECT trace_id, step_id, seq, said, NULL AS call FROM limits
    UNION ALL SELECT trace_id, NULL, seq, NULL, {'duration_ms': duration_ms, 'sooner': -seq, 'step_id': step_id, 'tool_name': tool_name,
      'median_ms': median_ms, 'good_calls': good_calls, 'z': z} FROM late WHERE z > 6)
)
SELECT m.trace_id, m.step_id AS failed_step, l.step_id AS cause_step, sure('timeout.slow/then_limit') AS confidence,
  'timeout.slow/then_limit' AS rule,
  l.tool_name || ' took ' || round(l.duration_ms)::BIGINT || ' ms, usual is ' || round(l.median_ms)::BIGINT
    || ' ms; a later step then ran into a limit' AS message,
  [fact(l.step_id, 'took ' || round(l.duration_ms)::BIGINT || ' ms; median of ' || l.good_calls || ' good calls is '
        || round(l.median_ms)::BIGINT || ' ms, robust z ' || round(l.z, 1), '$.duration_ms', l.duration_ms),
   fact(m.step_id, 'hit a limit later', NULL, m.said)] AS evidence
FROM in_order m WHERE m.step_id IS NOT NULL AND l IS NOT NULL
ORDER BY m.trace_id, failed_step;
