"""
The JSON of the arguments was cut by the output limit.

A bad trace:

    model  asks  write_file({"path": "a.txt", "text": "Once upon a        finish_reason length

Evidence: finish reason `length`, or text that stops before its last bracket.

What to do: ask again with a larger output limit or for a smaller request.
"""

from __future__ import annotations

from tracekit.model import RetryAdvice
from tracekit_analyzers.failures._load import sql_beside

code = "parameter.truncated"
title = "Arguments cut off"
retry = RetryAdvice.REPROMPT
sql = sql_beside(__file__)
