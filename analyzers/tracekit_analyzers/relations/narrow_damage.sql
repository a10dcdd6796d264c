-- One row: how many pieces the damage report names beside lines that are no JSON, how many of them are values of a wrong type,
-- and how many steps have no id.
select coalesce(sum(odd), 0) + count(*) filter (record is null or record not in ('step', 'process', 'message'))
    - count(*) filter (starts_with(record, '{"$tk"')) as damaged,
  coalesce(sum(odd), 0) as wrong_types, count(*) filter (record = 'step' and (trace_id is null or step_id is null)) as nameless
from narrow_lines;
