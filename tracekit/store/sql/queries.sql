-- Statements that both databases understand. A list of columns always ends with the checksum of the row.

-- name: task_insert
-- one row when it was admitted, none when the id is taken
INSERT INTO task (
  task_id, trace_id, root_step_id, function, arguments, status, goal, plan, current_step,
  code_version, tool_schema_hash, limits, owner, fence, lease_until_ms, next_seq, attempt,
  recoveries, max_recoveries, tokens_used, cost_used, result, error, priority, parent_task,
  created_ms, updated_ms, crc
) VALUES (
  :task_id, :trace_id, :root_step_id, :function, :arguments, :status, :goal, :plan, :current_step,
  :code_version, :tool_schema_hash, :limits, :owner, :fence, :lease_until_ms, :next_seq, :attempt,
  :recoveries, :max_recoveries, :tokens_used, :cost_used, :result, :error, :priority, :parent_task,
  :created_ms, :updated_ms, :crc
)
ON CONFLICT DO NOTHING RETURNING task_id;

-- name: task_put
-- what changes of a task at every commit; the columns of task_runnable are left alone, so its pages are not written
UPDATE task SET
  goal = :goal, plan = :plan, current_step = :current_step, code_version =
  :code_version, tool_schema_hash = :tool_schema_hash, limits = :limits, owner = :owner, fence =
  :fence, lease_until_ms = :lease_until_ms, next_seq = :next_seq, attempt = :attempt, recoveries =
  :recoveries, max_recoveries = :max_recoveries, tokens_used = :tokens_used, cost_used = :cost_used,
  result = :result, error = :error, updated_ms = :updated_ms, crc = :crc
WHERE task_id = :task_id;

-- name: task_move
-- as task_put, with what decides its place among the waiting tasks
UPDATE task SET
  status = :status, goal = :goal, plan = :plan, current_step = :current_step, code_version =
  :code_version, tool_schema_hash = :tool_schema_hash, limits = :limits, owner = :owner, fence =
  :fence, lease_until_ms = :lease_until_ms, next_seq = :next_seq, attempt = :attempt, recoveries =
  :recoveries, max_recoveries = :max_recoveries, tokens_used = :tokens_used, cost_used = :cost_used,
  result = :result, error = :error, priority = :priority, updated_ms = :updated_ms, crc = :crc
WHERE task_id = :task_id;

-- name: step_put
-- one place in a task's journal, new or replaced
INSERT INTO step (
  task_id, place, step_id, ord, kind, name, status, critical, depends_on, args_digest,
  context_digest, input, raw, result, tries, reinfers, infra_failures, failure_class,
  context_complete, tokens, cost, error, started_ms, finished_ms, crc
) VALUES (
  :task_id, :place, :step_id, :ord, :kind, :name, :status, :critical, :depends_on, :args_digest,
  :context_digest, :input, :raw, :result, :tries, :reinfers, :infra_failures, :failure_class,
  :context_complete, :tokens, :cost, :error, :started_ms, :finished_ms, :crc
)
ON CONFLICT (task_id, place) DO UPDATE SET
  step_id = excluded.step_id, ord = excluded.ord, kind = excluded.kind, name = excluded.name, status
  = excluded.status, critical = excluded.critical, depends_on = excluded.depends_on, args_digest =
  excluded.args_digest, context_digest = excluded.context_digest, input = excluded.input, raw =
  excluded.raw, result = excluded.result, tries = excluded.tries, reinfers = excluded.reinfers,
  infra_failures = excluded.infra_failures, failure_class = excluded.failure_class, context_complete
  = excluded.context_complete, tokens = excluded.tokens, cost = excluded.cost, error =
  excluded.error, started_ms = excluded.started_ms, finished_ms = excluded.finished_ms, crc =
  excluded.crc;

-- name: effect_put
-- one ledger row, new or replaced
INSERT INTO effect (
  key, task_id, place, call_no, tool, risk, idempotent, args_hash, args, status, attempt, fence,
  approval_id, intent_ms, outcome_ms, probe_count, probe_verdict, server_ref, result, error, crc
) VALUES (
  :key, :task_id, :place, :call_no, :tool, :risk, :idempotent, :args_hash, :args, :status, :attempt,
  :fence, :approval_id, :intent_ms, :outcome_ms, :probe_count, :probe_verdict, :server_ref, :result,
  :error, :crc
)
ON CONFLICT (task_id, key) DO UPDATE SET
  place = excluded.place, call_no = excluded.call_no, tool =
  excluded.tool, risk = excluded.risk, idempotent = excluded.idempotent, args_hash =
  excluded.args_hash, args = excluded.args, status = excluded.status, attempt = excluded.attempt,
  fence = excluded.fence, approval_id = excluded.approval_id, intent_ms = excluded.intent_ms,
  outcome_ms = excluded.outcome_ms, probe_count = excluded.probe_count, probe_verdict =
  excluded.probe_verdict, server_ref = excluded.server_ref, result = excluded.result, error =
  excluded.error, crc = excluded.crc;

-- name: review_put
-- one question to a person, new or replaced
INSERT INTO review (
  review_id, task_id, place, effect_key, reason, panel, args_digest, status, decision, payload,
  decided_by, decided_ms, expires_ms, version, created_ms, crc
) VALUES (
  :review_id, :task_id, :place, :effect_key, :reason, :panel, :args_digest, :status, :decision,
  :payload, :decided_by, :decided_ms, :expires_ms, :version, :created_ms, :crc
)
ON CONFLICT (review_id) DO UPDATE SET
  task_id = excluded.task_id, place = excluded.place, effect_key = excluded.effect_key, reason =
  excluded.reason, panel = excluded.panel, args_digest = excluded.args_digest, status =
  excluded.status, decision = excluded.decision, payload = excluded.payload, decided_by =
  excluded.decided_by, decided_ms = excluded.decided_ms, expires_ms = excluded.expires_ms, version =
  excluded.version, created_ms = excluded.created_ms, crc = excluded.crc;

-- name: claim_put
-- who has a question, new or replaced
INSERT INTO review_claim (
  review_id, task_id, claimed_by, claimed_ms, until_ms, crc
) VALUES (
  :review_id, :task_id, :claimed_by, :claimed_ms, :until_ms, :crc
)
ON CONFLICT (review_id) DO UPDATE SET
  task_id = excluded.task_id, claimed_by = excluded.claimed_by, claimed_ms = excluded.claimed_ms,
  until_ms = excluded.until_ms, crc = excluded.crc;

-- name: claim_delete
-- no row
DELETE FROM review_claim WHERE review_id = :review_id;

-- name: compensation_put
-- one step of an undo, new or replaced
INSERT INTO compensation (
  task_id, ord, effect_key, tool, args, key, status, attempt, error, crc
) VALUES (
  :task_id, :ord, :effect_key, :tool, :args, :key, :status, :attempt, :error, :crc
)
ON CONFLICT (task_id, ord) DO UPDATE SET
  effect_key = excluded.effect_key, tool = excluded.tool, args = excluded.args, key = excluded.key,
  status = excluded.status, attempt = excluded.attempt, error = excluded.error, crc = excluded.crc;

-- name: decision_insert
-- one automatic choice of recovery
INSERT INTO decision (
  task_id, place, failure_class, risk, work_done, action, rule_id, evidence, ts_ms, crc
) VALUES (
  :task_id, :place, :failure_class, :risk, :work_done, :action, :rule_id, :evidence, :ts_ms, :crc
);

-- name: event_insert
-- one line of a task's history
INSERT INTO event (
  task_id, seq, fence, ts_ms, kind, place, body, crc
) VALUES (
  :task_id, :seq, :fence, :ts_ms, :kind, :place, :body, :crc
);

-- name: worker_put
-- one process that may own tasks, new or replaced
INSERT INTO worker (
  worker_id, host, boot_id, pid, started_ms, heartbeat_ms, crc
) VALUES (
  :worker_id, :host, :boot_id, :pid, :started_ms, :heartbeat_ms, :crc
)
ON CONFLICT (worker_id) DO UPDATE SET
  host = excluded.host, boot_id = excluded.boot_id, pid = excluded.pid, started_ms =
  excluded.started_ms, heartbeat_ms = excluded.heartbeat_ms, crc = excluded.crc;

-- name: task_read
-- a task
SELECT
  task_id, trace_id, root_step_id, function, arguments, status, goal, plan, current_step,
  code_version, tool_schema_hash, limits, owner, fence, lease_until_ms, next_seq, attempt,
  recoveries, max_recoveries, tokens_used, cost_used, result, error, priority, parent_task,
  created_ms, updated_ms, crc
FROM task
WHERE task_id = :task_id;

-- name: steps_of
-- the journal of a task, in the order of beginning
SELECT
  task_id, place, step_id, ord, kind, name, status, critical, depends_on, args_digest,
  context_digest, input, raw, result, tries, reinfers, infra_failures, failure_class,
  context_complete, tokens, cost, error, started_ms, finished_ms, crc
FROM step
WHERE task_id = :task_id
ORDER BY ord, place;

-- name: effect_get
-- a ledger row
SELECT
  key, task_id, place, call_no, tool, risk, idempotent, args_hash, args, status, attempt, fence,
  approval_id, intent_ms, outcome_ms, probe_count, probe_verdict, server_ref, result, error, crc
FROM effect
WHERE task_id = :task_id AND key = :key;

-- name: pending_effects
-- ledger rows of a task whose request may be on its way
SELECT
  key, task_id, place, call_no, tool, risk, idempotent, args_hash, args, status, attempt, fence,
  approval_id, intent_ms, outcome_ms, probe_count, probe_verdict, server_ref, result, error, crc
FROM effect
WHERE task_id = :task_id AND status = 'pending'
ORDER BY intent_ms, key;

-- name: effects_of
-- the ledger of a task
SELECT
  key, task_id, place, call_no, tool, risk, idempotent, args_hash, args, status, attempt, fence,
  approval_id, intent_ms, outcome_ms, probe_count, probe_verdict, server_ref, result, error, crc
FROM effect
WHERE task_id = :task_id
ORDER BY intent_ms, place, call_no, key;

-- name: reviews_of
-- the questions of a task, oldest first
SELECT
  review_id, task_id, place, effect_key, reason, panel, args_digest, status, decision, payload,
  decided_by, decided_ms, expires_ms, version, created_ms, crc
FROM review
WHERE task_id = :task_id
ORDER BY created_ms, review_id;

-- name: review_read
-- a question
SELECT
  review_id, task_id, place, effect_key, reason, panel, args_digest, status, decision, payload,
  decided_by, decided_ms, expires_ms, version, created_ms, crc
FROM review
WHERE review_id = :review_id;

-- name: reviews_all
-- questions to people, oldest first
SELECT
  review_id, task_id, place, effect_key, reason, panel, args_digest, status, decision, payload,
  decided_by, decided_ms, expires_ms, version, created_ms, crc
FROM review
WHERE status = 'open' OR NOT :open_only
ORDER BY created_ms, review_id
LIMIT :limit;

-- name: claim_get
-- who has a question
SELECT
  review_id, task_id, claimed_by, claimed_ms, until_ms, crc
FROM review_claim
WHERE review_id = :review_id;

-- name: claims_open
-- who has which open question, the earliest first
SELECT
  review_id, task_id, claimed_by, claimed_ms, until_ms, crc
FROM review_claim
WHERE review_id IN (SELECT review.review_id FROM review WHERE review.status = 'open')
ORDER BY claimed_ms, review_id;

-- name: compensations_of
-- the undo of a task, in its order
SELECT
  task_id, ord, effect_key, tool, args, key, status, attempt, error, crc
FROM compensation
WHERE task_id = :task_id
ORDER BY ord;

-- name: decisions_of
-- the automatic choices of a task, in the order they were made
SELECT
  task_id, place, failure_class, risk, work_done, action, rule_id, evidence, ts_ms, crc
FROM decision
WHERE task_id = :task_id
ORDER BY id;

-- name: events_of
-- the history of a task after a sequence number
SELECT
  task_id, seq, fence, ts_ms, kind, place, body, crc
FROM event
WHERE task_id = :task_id AND seq > :after_seq
ORDER BY seq
LIMIT :limit;

-- name: workers_all
-- all workers
SELECT
  worker_id, host, boot_id, pid, started_ms, heartbeat_ms, crc
FROM worker
ORDER BY worker_id;

-- name: worker_delete
-- no row
DELETE FROM worker WHERE worker_id = :worker_id;
