-- The store, schema 3. Every row ends with crc: CRC-32 over its columns as stored, so that a changed byte is found
-- when the row is read. Times are milliseconds since the epoch, UTC; true and false are 1 and 0. Bodies (arguments,
-- results, messages, raw model output) stand once in blob, by the hash of their content; columns that name one hold
-- its hash. Deleting is left to `prune`: an open task never loses a row of its ledger.
--
-- This file is what a new store gets. It equals migrations/*.sql applied in order; a test holds them together.

-- what a user waits for; owner and fence say who may write
CREATE TABLE task (
  task_id TEXT NOT NULL,
  trace_id TEXT NOT NULL,
  root_step_id TEXT NOT NULL,
  function TEXT NOT NULL,
  arguments TEXT NOT NULL,
  status TEXT NOT NULL,
  goal TEXT NOT NULL,
  plan TEXT,
  current_step TEXT,
  code_version TEXT NOT NULL,
  tool_schema_hash TEXT NOT NULL,
  limits TEXT NOT NULL,
  owner TEXT,
  fence INTEGER NOT NULL,
  lease_until_ms INTEGER NOT NULL,
  next_seq INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  recoveries INTEGER NOT NULL,
  max_recoveries INTEGER NOT NULL,
  tokens_used INTEGER NOT NULL,
  cost_used REAL NOT NULL,
  result TEXT,
  error TEXT,
  priority INTEGER NOT NULL,
  parent_task TEXT,
  created_ms INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL,
  crc INTEGER NOT NULL,
  PRIMARY KEY (task_id)
) WITHOUT ROWID, STRICT;

-- tasks that a worker may take without anybody's answer, in the order in which they are taken
CREATE INDEX task_runnable ON task (priority DESC, created_ms, task_id)
  WHERE status IN ('queued', 'running', 'rolling_back');

-- one place in the journal of a task
CREATE TABLE step (
  task_id TEXT NOT NULL,
  place TEXT NOT NULL,
  step_id TEXT NOT NULL,
  ord INTEGER NOT NULL,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  status TEXT NOT NULL,
  critical INTEGER NOT NULL,
  depends_on TEXT NOT NULL,
  args_digest TEXT NOT NULL,
  context_digest TEXT,
  input TEXT,
  raw TEXT,
  result TEXT,
  tries INTEGER NOT NULL,
  reinfers INTEGER NOT NULL,
  infra_failures INTEGER NOT NULL,
  failure_class TEXT,
  context_complete INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  cost REAL NOT NULL,
  error TEXT,
  started_ms INTEGER NOT NULL,
  finished_ms INTEGER,
  crc INTEGER NOT NULL,
  PRIMARY KEY (task_id, place),
  FOREIGN KEY (task_id) REFERENCES task (task_id)
) WITHOUT ROWID, STRICT;

-- the ledger: a call that may change the outside world, booked before it is sent
CREATE TABLE effect (
  key TEXT NOT NULL,
  task_id TEXT NOT NULL,
  place TEXT NOT NULL,
  call_no INTEGER NOT NULL,
  tool TEXT NOT NULL,
  risk TEXT NOT NULL,
  idempotent INTEGER NOT NULL,
  args_hash TEXT NOT NULL,
  args TEXT NOT NULL,
  status TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  fence INTEGER NOT NULL,
  approval_id TEXT,
  intent_ms INTEGER NOT NULL,
  outcome_ms INTEGER,
  probe_count INTEGER NOT NULL,
  probe_verdict TEXT,
  server_ref TEXT,
  result TEXT,
  error TEXT,
  crc INTEGER NOT NULL,
  PRIMARY KEY (task_id, key),
  FOREIGN KEY (task_id) REFERENCES task (task_id)
) WITHOUT ROWID, STRICT;

-- a question that only a person may answer
CREATE TABLE review (
  review_id TEXT NOT NULL,
  task_id TEXT NOT NULL,
  place TEXT,
  effect_key TEXT,
  reason TEXT NOT NULL,
  panel TEXT NOT NULL,
  args_digest TEXT NOT NULL,
  status TEXT NOT NULL,
  decision TEXT,
  payload TEXT,
  decided_by TEXT,
  decided_ms INTEGER,
  expires_ms INTEGER,
  version INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  crc INTEGER NOT NULL,
  PRIMARY KEY (review_id),
  FOREIGN KEY (task_id) REFERENCES task (task_id)
) STRICT;

CREATE INDEX review_of_task ON review (task_id);

CREATE INDEX review_open ON review (created_ms, review_id) WHERE status = 'open';

CREATE INDEX review_decided ON review (task_id) WHERE status = 'decided';

CREATE INDEX review_expiring ON review (expires_ms) WHERE status = 'open' AND expires_ms IS NOT NULL;

-- who looks at an open question and until when: a note, never a lock
CREATE TABLE review_claim (
  review_id TEXT NOT NULL,
  task_id TEXT NOT NULL,
  claimed_by TEXT NOT NULL,
  claimed_ms INTEGER NOT NULL,
  until_ms INTEGER NOT NULL,
  crc INTEGER NOT NULL,
  PRIMARY KEY (review_id),
  FOREIGN KEY (task_id) REFERENCES task (task_id)
) STRICT;

-- one step of an undo, stored before the first one runs
CREATE TABLE compensation (
  task_id TEXT NOT NULL,
  ord INTEGER NOT NULL,
  effect_key TEXT NOT NULL,
  tool TEXT NOT NULL,
  args TEXT NOT NULL,
  key TEXT NOT NULL,
  status TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  error TEXT,
  crc INTEGER NOT NULL,
  PRIMARY KEY (task_id, ord),
  FOREIGN KEY (task_id) REFERENCES task (task_id)
) WITHOUT ROWID, STRICT;

-- why recovery did what it did
CREATE TABLE decision (
  id INTEGER PRIMARY KEY,
  task_id TEXT NOT NULL,
  place TEXT,
  failure_class TEXT NOT NULL,
  risk TEXT NOT NULL,
  work_done REAL NOT NULL,
  action TEXT NOT NULL,
  rule_id TEXT NOT NULL,
  evidence TEXT NOT NULL,
  ts_ms INTEGER NOT NULL,
  crc INTEGER NOT NULL,
  FOREIGN KEY (task_id) REFERENCES task (task_id)
) STRICT;

CREATE INDEX decision_of_task ON decision (task_id);

-- append-only history of a task; the four checkpoints are events
CREATE TABLE event (
  task_id TEXT NOT NULL,
  seq INTEGER NOT NULL,
  fence INTEGER NOT NULL,
  ts_ms INTEGER NOT NULL,
  kind TEXT NOT NULL,
  place TEXT,
  body TEXT NOT NULL,
  crc INTEGER NOT NULL,
  PRIMARY KEY (task_id, seq),
  FOREIGN KEY (task_id) REFERENCES task (task_id)
) WITHOUT ROWID, STRICT;

-- a process that may own tasks
CREATE TABLE worker (
  worker_id TEXT NOT NULL,
  host TEXT NOT NULL,
  boot_id TEXT NOT NULL,
  pid INTEGER NOT NULL,
  started_ms INTEGER NOT NULL,
  heartbeat_ms INTEGER NOT NULL,
  crc INTEGER NOT NULL,
  PRIMARY KEY (worker_id)
) STRICT;

-- a body stored once under the hash of its plain content; refs is a JSON list of the bodies that it names
CREATE TABLE blob (
  hash TEXT NOT NULL PRIMARY KEY,
  codec TEXT NOT NULL,
  data BLOB NOT NULL,
  refs TEXT,
  stored_ms INTEGER NOT NULL,
  crc INTEGER NOT NULL
) STRICT;
