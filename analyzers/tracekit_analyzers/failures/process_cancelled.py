"""
A step was cancelled before it answered: by a time limit of its caller, a step beside it that failed, or a person.

A bad trace:

    task  error  CancelledError

Evidence: the exception, or the words. Where a time limit is on record (of the call, or a step around it that timed out), a call
is told as `timeout.no_answer` instead.

What to do: nothing where a person meant it; else give it more time, or look at what failed beside it, and resume.
"""

from __future__ import annotations

from tracekit.model import RetryAdvice
from tracekit_analyzers.failures._load import sql_beside

code = "process.cancelled"
title = "Cancelled"
retry = RetryAdvice.NONE
sql = sql_beside(__file__)
