-- One row: one line of a native log, or one record that a reader made, as text; `rowid` is its place in the reading order.
create or replace table lines (
  record varchar, event varchar, service varchar, host varchar, boot_id varchar, pid varchar, process_id varchar, "at" varchar,
  hash varchar, role varchar, message json,
  trace_id varchar, step_id varchar, parent_step_id varchar, task_id varchar, attempt varchar, log_seq varchar,
  kind varchar, name varchar, agent varchar, tool_name varchar, call_id varchar, status varchar,
  input_snapshot json, output_snapshot json, model_raw_output varchar, model varchar, finish_reason varchar,
  context json, asked json, depends_on json, effect json, checkpoint varchar, tries varchar, reinfers varchar,
  error_type varchar, error_message varchar, error_stack varchar, usage json, tokens json,
  started_at varchar, finished_at varchar, duration_ms varchar, attributes json, count varchar, reason varchar,
  source json, file varchar
);
