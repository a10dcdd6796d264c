-- One row: one line of a native log with the few fields that a query needs; `rowid` is its place in the reading order, `ended`
-- says whether it tells an end, `odd` how many of its fields hold a value of a wrong type.
create or replace table narrow_lines (record varchar, trace_id varchar, step_id varchar, ended boolean, odd utinyint,
  began timestamp, ended_at timestamp, took_ms double, {fields});
