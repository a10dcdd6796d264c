-- who looks at an open question and until when: a note, never a lock
CREATE TABLE review_claim (
  review_id TEXT NOT NULL,
  task_id TEXT NOT NULL,
  claimed_by TEXT NOT NULL,
  claimed_ms BIGINT NOT NULL,
  until_ms BIGINT NOT NULL,
  crc BIGINT NOT NULL,
  PRIMARY KEY (review_id),
  FOREIGN KEY (task_id) REFERENCES task (task_id)
);
