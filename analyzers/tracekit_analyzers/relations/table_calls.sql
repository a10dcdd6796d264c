-- One row: a tool call, as the model asked for it and as the tool received it, JSON as text, for tables and frames.
select * replace (cast(input as varchar) as input, cast(output as varchar) as output)
from calls order by trace_id, coalesce(seq, asked_seq), call_id
