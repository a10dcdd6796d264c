"""
A state value was replaced, and a later step still works with the one that is gone.

A bad trace:

    tool  remember(key="fare", value="375")     later  remember(key="fare", value="299")
    tool  book(paid=375)

Evidence: two writes of the same name with different values, and the later use of the first.

What to do: go back to the second write: either it should not have been made, or the later step has to read again.
"""

from __future__ import annotations

from tracekit.model import RetryAdvice
from tracekit_analyzers.failures._load import sql_beside

code = "context.overwritten"
title = "A value was written over and then used"
retry = RetryAdvice.RESTORE
sql = sql_beside(__file__)
