"""
The request no longer fitted into the context of the model.

A bad trace:

    model  error  BadRequestError: maximum context length is 128000 tokens, got 131072

Evidence: the provider's error, or a finish reason that says so.

What to do: rebuild the context in layers, mark the step, go on.
"""

from __future__ import annotations

from tracekit.model import RetryAdvice
from tracekit_analyzers.failures._load import sql_beside

code = "context.overflow"
title = "The context limit was hit"
retry = RetryAdvice.RESTORE
sql = sql_beside(__file__)
