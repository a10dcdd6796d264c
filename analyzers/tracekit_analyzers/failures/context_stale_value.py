"""
An argument equals an older output, although a newer output at the same place says something else.

A bad trace:

    tool  get_order(A-17)  answers  {"total": 120.00}
    tool  get_order(A-17)  answers  {"total": 99.50}
    tool  refund(amount=120.00)

Evidence: both outputs and the argument, with their paths.

What to do: go back to the step that asked, with the newer value in its context.
"""

from __future__ import annotations

from tracekit.model import RetryAdvice
from tracekit_analyzers.failures._load import sql_beside

code = "context.stale_value"
title = "An outdated value was used"
retry = RetryAdvice.RESTORE
sql = sql_beside(__file__)
