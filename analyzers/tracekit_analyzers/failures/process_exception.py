"""
Code of the agent raised and nothing caught it.

A bad trace:

    step  compute_refund   error  ZeroDivisionError: division by zero

Evidence: the exception with its stack, told at the lowest step that shows it.

What to do: mend the code, then resume from the last checkpoint.
"""

from __future__ import annotations

from tracekit.model import RetryAdvice
from tracekit_analyzers.failures._load import sql_beside

code = "process.exception"
title = "Uncaught exception"
retry = RetryAdvice.FIX_CODE
sql = sql_beside(__file__)
