-- Claims stay look-ups however many tasks wait for a person: those are found by their answers, not passed by one by one.
DROP INDEX task_waiting;

CREATE INDEX task_runnable ON task (priority DESC, created_ms, task_id)
  WHERE status IN ('queued', 'running', 'rolling_back');

CREATE INDEX review_decided ON review (task_id) WHERE status = 'decided';

CREATE INDEX review_expiring ON review (expires_ms) WHERE status = 'open' AND expires_ms IS NOT NULL;
