"""
The run was ended by a limit on steps, turns or rounds.

A bad trace:

    task  error  GraphRecursionError: recursion limit of 25 reached

Evidence: the limit's own words.

What to do: look for the loop before it, or raise the limit with a reason.
"""

from __future__ import annotations

from tracekit.model import RetryAdvice
from tracekit_analyzers.failures._load import sql_beside

code = "orchestration.limit"
title = "A step limit was reached"
retry = RetryAdvice.NONE
sql = sql_beside(__file__)
