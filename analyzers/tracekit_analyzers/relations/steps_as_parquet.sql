-- Writes the relation `steps` to {target}, in the order of traces; open steps of `killed` say in an attribute that they are.
copy (
  select * exclude (bucket, first_n, last_n) replace (
    started_at at time zone 'UTC' as started_at, finished_at at time zone 'UTC' as finished_at,
    case when (trace_id, step_id) in (select (trace_id, step_id) from killed)
      then json_merge_patch(attributes, '{"tracekit.ended_by":"killed"}') else attributes end as attributes)
  from log.steps order by trace_id, seq
) to '{target}' (format parquet, compression zstd);
