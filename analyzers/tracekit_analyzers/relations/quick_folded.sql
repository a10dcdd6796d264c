-- Makes the view `folded` over the files themselves: one row is the last state of a step. Columns that a query does not name are
-- not even parsed. Of the lines of a step the one that ended last wins, field by field.
create view folded as
select *,
  as_time(said_started_at) as started_at, as_time(said_finished_at) as finished_at, as_ms(said_duration_ms) as took_ms,
  cast(null as bigint) as seq, cast(null as bigint) as first_n, cast(null as bigint) as last_n
from (
  select trace_id, step_id, {columns}, any_value(started_at) as said_started_at, max(finished_at) as said_finished_at,
    arg_max(duration_ms, n) as said_duration_ms
  from (
    select *, nothing_as_null(input_snapshot) as input, nothing_as_null(output_snapshot) as output, model_raw_output as raw,
      coalesce(finished_at, '') as n
    from said where record = 'step'
  ) group by trace_id, step_id
);
