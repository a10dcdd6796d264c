-- Statements of SQLite alone: lists come as JSON; the one writer needs no row locks.

-- name: task_lock
-- a task, which nobody else changes until the transaction ends
SELECT
  task_id, trace_id, root_step_id, function, arguments, status, goal, plan, current_step,
  code_version, tool_schema_hash, limits, owner, fence, lease_until_ms, next_seq, attempt,
  recoveries, max_recoveries, tokens_used, cost_used, result, error, priority, parent_task,
  created_ms, updated_ms, crc
FROM task
WHERE task_id = :task_id;

-- name: review_lock
-- a question, which nobody else changes until the transaction ends
SELECT
  review_id, task_id, place, effect_key, reason, panel, args_digest, status, decision, payload,
  decided_by, decided_ms, expires_ms, version, created_ms, crc
FROM review
WHERE review_id = :review_id;

-- name: reviews_lock
-- the questions of a task, oldest first, which nobody else answers until the transaction ends
SELECT
  review_id, task_id, place, effect_key, reason, panel, args_digest, status, decision, payload,
  decided_by, decided_ms, expires_ms, version, created_ms, crc
FROM review
WHERE task_id = :task_id
ORDER BY created_ms, review_id;

-- name: waiting_task
-- the id of the first task that waits for a worker; ownership.py decides whether it is free. Tasks in review are found
-- by their answers, so that a long queue of questions is not passed by one by one
SELECT task_id
FROM (
  SELECT * FROM (
    SELECT priority, created_ms, task_id
    FROM task
    WHERE status IN ('queued', 'running', 'rolling_back') AND (
        status = 'queued'
        OR owner IS NULL
        OR owner IN (SELECT value FROM json_each(:dead)) AND recoveries < max_recoveries
        OR lease_until_ms <= :now_ms AND NOT owner IN (SELECT value FROM json_each(:alive)) AND recoveries < max_recoveries
      )
      AND (function IN (SELECT value FROM json_each(:functions)) OR :functions = '[]')
      AND NOT task_id IN (SELECT value FROM json_each(:skip))
    ORDER BY priority DESC, created_ms, task_id
    LIMIT 1
  ) AS runnable
  UNION ALL
  SELECT * FROM (
    SELECT priority, created_ms, task_id
    FROM task
    WHERE status = 'requires_review'
      AND task_id IN (
        SELECT review.task_id FROM review WHERE review.status = 'decided'
        UNION ALL
        SELECT review.task_id FROM review
        WHERE review.status = 'open' AND review.expires_ms IS NOT NULL AND review.expires_ms <= :now_ms
      )
      AND NOT EXISTS (
        SELECT 1 FROM review
        WHERE review.task_id = task.task_id AND review.status = 'open'
          AND (review.expires_ms IS NULL OR review.expires_ms > :now_ms)
      )
      AND (function IN (SELECT value FROM json_each(:functions)) OR :functions = '[]')
      AND NOT task_id IN (SELECT value FROM json_each(:skip))
    ORDER BY priority DESC, created_ms, task_id
    LIMIT 1
  ) AS answered
) AS either_way
ORDER BY priority DESC, created_ms, task_id
LIMIT 1;

-- name: tasks_list
-- tasks in the order of their id
SELECT
  task_id, trace_id, root_step_id, function, arguments, status, goal, plan, current_step,
  code_version, tool_schema_hash, limits, owner, fence, lease_until_ms, next_seq, attempt,
  recoveries, max_recoveries, tokens_used, cost_used, result, error, priority, parent_task,
  created_ms, updated_ms, crc
FROM task
WHERE task_id > :after AND (:statuses = '[]' OR status IN (SELECT value FROM json_each(:statuses)))
ORDER BY task_id
LIMIT :limit;

-- name: left_out
-- a task with how many of its steps were skipped
SELECT task_id, COUNT(*) AS steps
FROM step
WHERE task_id IN (SELECT value FROM json_each(:task_ids)) AND status = 'skipped'
GROUP BY task_id
ORDER BY task_id;

-- name: blob_put
-- a body; one that is there is marked as used again, so that a sweep spares it, and what comes sealed takes its place: it may
-- lie there plain, or under a key that is gone when this task reads it
INSERT INTO blob (hash, codec, data, refs, stored_ms, crc) VALUES (:hash, :codec, :data, :refs, :stored_ms, :crc)
ON CONFLICT (hash) DO UPDATE SET stored_ms = excluded.stored_ms,
  codec = CASE WHEN excluded.codec = 'sealed' THEN excluded.codec ELSE blob.codec END,
  data = CASE WHEN excluded.codec = 'sealed' THEN excluded.data ELSE blob.data END,
  refs = CASE WHEN excluded.codec = 'sealed' THEN excluded.refs ELSE blob.refs END,
  crc = CASE WHEN excluded.codec = 'sealed' THEN excluded.crc ELSE blob.crc END
WHERE blob.stored_ms < excluded.stored_ms - 3600000 OR excluded.codec = 'sealed';

-- name: blobs_read
-- bodies by hash
SELECT hash, codec, data, refs, crc FROM blob WHERE hash IN (SELECT value FROM json_each(:hashes))
ORDER BY hash;

-- name: prune_events
-- no row; thins the history: the first, the last, reviews and every Kth stay
DELETE FROM event WHERE (task_id, seq) IN (
  SELECT task_id, seq FROM event AS old
  WHERE ts_ms < :before_ms AND seq > 1 AND kind NOT LIKE '%review%' AND seq % :keep_every <> 0
    AND seq < (SELECT MAX(last.seq) FROM event AS last WHERE last.task_id = old.task_id)
  LIMIT :batch
);

-- name: prune_steps
-- no row; the journal of tasks that ended
DELETE FROM step WHERE (task_id, place) IN (
  SELECT task_id, place FROM step AS old
  WHERE task_id IN (SELECT task_id FROM task WHERE status IN ('done', 'failed', 'cancelled') AND updated_ms < :before_ms AND NOT task_id IN (SELECT value FROM json_each(:damaged)))
  LIMIT :batch
);

-- name: forget_event
-- no row; what belongs to tasks that are forgotten
DELETE FROM event WHERE (task_id, seq) IN (
  SELECT task_id, seq FROM event AS old
  WHERE task_id IN (SELECT task_id FROM task WHERE status IN ('done', 'failed', 'cancelled') AND updated_ms < :before_ms AND NOT task_id IN (SELECT value FROM json_each(:damaged)))
  LIMIT :batch
);

-- name: forget_decision
-- no row; what belongs to tasks that are forgotten
DELETE FROM decision WHERE (id) IN (
  SELECT id FROM decision AS old
  WHERE task_id IN (SELECT task_id FROM task WHERE status IN ('done', 'failed', 'cancelled') AND updated_ms < :before_ms AND NOT task_id IN (SELECT value FROM json_each(:damaged)))
  LIMIT :batch
);

-- name: forget_compensation
-- no row; what belongs to tasks that are forgotten
DELETE FROM compensation WHERE (task_id, ord) IN (
  SELECT task_id, ord FROM compensation AS old
  WHERE task_id IN (SELECT task_id FROM task WHERE status IN ('done', 'failed', 'cancelled') AND updated_ms < :before_ms AND NOT task_id IN (SELECT value FROM json_each(:damaged)))
  LIMIT :batch
);

-- name: forget_review_claim
-- no row; what belongs to tasks that are forgotten
DELETE FROM review_claim WHERE (review_id) IN (
  SELECT review_id FROM review_claim AS old
  WHERE task_id IN (SELECT task_id FROM task WHERE status IN ('done', 'failed', 'cancelled') AND updated_ms < :before_ms AND NOT task_id IN (SELECT value FROM json_each(:damaged)))
  LIMIT :batch
);

-- name: forget_review
-- no row; what belongs to tasks that are forgotten
DELETE FROM review WHERE (review_id) IN (
  SELECT review_id FROM review AS old
  WHERE task_id IN (SELECT task_id FROM task WHERE status IN ('done', 'failed', 'cancelled') AND updated_ms < :before_ms AND NOT task_id IN (SELECT value FROM json_each(:damaged)))
  LIMIT :batch
);

-- name: forget_effect
-- no row; what belongs to tasks that are forgotten
DELETE FROM effect WHERE (task_id, key) IN (
  SELECT task_id, key FROM effect AS old
  WHERE task_id IN (SELECT task_id FROM task WHERE status IN ('done', 'failed', 'cancelled') AND updated_ms < :before_ms AND NOT task_id IN (SELECT value FROM json_each(:damaged)))
  LIMIT :batch
);

-- name: forget_step
-- no row; what belongs to tasks that are forgotten
DELETE FROM step WHERE (task_id, place) IN (
  SELECT task_id, place FROM step AS old
  WHERE task_id IN (SELECT task_id FROM task WHERE status IN ('done', 'failed', 'cancelled') AND updated_ms < :before_ms AND NOT task_id IN (SELECT value FROM json_each(:damaged)))
  LIMIT :batch
);

-- name: forget_task
-- no row; tasks that are forgotten
DELETE FROM task WHERE (task_id) IN (
  SELECT task_id FROM task AS old
  WHERE status IN ('done', 'failed', 'cancelled') AND updated_ms < :before_ms AND NOT task_id IN (SELECT value FROM json_each(:damaged))
  LIMIT :batch
);

-- name: sweep_blobs
-- no row; bodies that no row names, neither itself nor through another body
DELETE FROM blob WHERE hash IN (
  SELECT hash FROM blob AS old WHERE old.stored_ms < :before_ms AND old.hash NOT IN (
  WITH RECURSIVE named (hash) AS (
    SELECT arguments FROM task
    UNION SELECT result FROM task WHERE result IS NOT NULL
    UNION SELECT input FROM step WHERE input IS NOT NULL
    UNION SELECT raw FROM step WHERE raw IS NOT NULL
    UNION SELECT result FROM step WHERE result IS NOT NULL
    UNION SELECT args FROM effect
    UNION SELECT result FROM effect WHERE result IS NOT NULL
    UNION SELECT args FROM compensation
    UNION SELECT payload FROM review WHERE payload IS NOT NULL
  ), kept (hash) AS (
    SELECT hash FROM named
    UNION
    SELECT ref.value FROM kept JOIN blob ON blob.hash = kept.hash JOIN json_each(blob.refs) AS ref
  )
  SELECT hash FROM kept
  )
  LIMIT :batch
) AND stored_ms < :before_ms;
