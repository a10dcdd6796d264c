"""
The arguments are well formed and known, but their value is wrong: an amount that does not add up, a thing in the
wrong state.

A bad trace:

    tool   quote          answers  {"total": 375}
    tool   book(paid=299) answers  Error: amount 299 does not match the price of 375

Evidence: the tool's refusal, and the lineage of the value that it names.

What to do: go back to the step that produced the value.
"""

from __future__ import annotations

from tracekit.model import RetryAdvice
from tracekit_analyzers.failures._load import sql_beside

code = "parameter.wrong_value"
title = "A known value that the tool refused"
retry = RetryAdvice.RESTORE
sql = sql_beside(__file__)
