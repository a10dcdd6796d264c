-- Puts each value of a wrong type, as text, into the attributes of its step.
update lines set attributes = json_merge_patch(coalesce(attributes, '{}'::json), wrong.patch)
from (
  select n, json_group_object('tracekit.unread.' || field, said) as patch from (
{wrong_types}
  ) where field <> 'record' group by n
) wrong where lines.rowid = wrong.n;
