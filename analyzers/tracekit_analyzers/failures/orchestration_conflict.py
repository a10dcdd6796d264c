"""
Two steps wrote the same thing at the same time with different values.

A bad trace:

    agent A  tool  set_price(item="X1", price=10)   12:00:01 - 12:00:03
    agent B  tool  set_price(item="X1", price=12)   12:00:02 - 12:00:04

Evidence: both calls, their times and the values that differ.

What to do: give the state one owner, or make the writes conditional.
"""

from __future__ import annotations

from tracekit.model import RetryAdvice
from tracekit_analyzers.failures._load import sql_beside

code = "orchestration.conflict"
title = "Two writers, one state"
retry = RetryAdvice.NONE
sql = sql_beside(__file__)
