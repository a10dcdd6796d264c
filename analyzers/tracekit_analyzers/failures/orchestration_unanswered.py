"""
The last thing that the model asked for never ran, and the run ends there.

A bad trace:

    model  asks  update_order({...})
    (end)

Evidence: a call without a result and no model call after it, in a log whose writer was not killed.

What to do: go on from the step that asked.
"""

from __future__ import annotations

from tracekit.model import RetryAdvice
from tracekit_analyzers.failures._load import sql_beside

code = "orchestration.unanswered"
title = "A call that nobody answered"
retry = RetryAdvice.RESTORE
sql = sql_beside(__file__)
