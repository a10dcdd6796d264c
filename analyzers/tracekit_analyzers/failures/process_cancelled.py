"""
A person or the caller stopped the run.

A bad trace:

    task  error  CancelledError

Evidence: the exception, or the words.

What to do: nothing; resume if it was a mistake.
"""

from __future__ import annotations

from tracekit.model import RetryAdvice
from tracekit_analyzers.failures._load import sql_beside

code = "process.cancelled"
title = "Stopped by a person"
retry = RetryAdvice.NONE
sql = sql_beside(__file__)
