"""
A call was answered, or should have been, but the next model call was sent without its result.

A bad trace:

    model  asks  find_order (call_1), find_user (call_2)
    model  is sent the answer of call_2 only

Evidence: the call id that stands unanswered in the context of the next model call.

What to do: go on from the step before that model call, with the result put back.
"""

from __future__ import annotations

from tracekit.model import RetryAdvice
from tracekit_analyzers.failures._load import sql_beside

code = "context.missing_result"
title = "A tool's result never reached the model"
retry = RetryAdvice.RESTORE
sql = sql_beside(__file__)
