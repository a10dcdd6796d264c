"""
The same operation with the same result again and again, or a cycle of operations.

A bad trace:

    tool  page_down   answers  "end of page"      x 4

Evidence: the repeated steps.

What to do: stop and change the plan.
"""

from __future__ import annotations

from tracekit.model import RetryAdvice
from tracekit_analyzers.failures._load import sql_beside

code = "orchestration.loop"
title = "Going round in circles"
retry = RetryAdvice.NONE
sql = sql_beside(__file__)
