"""
A step ran before a step that it depends on had ended, or after that one had failed.

A bad trace:

    step  compute_refund  depends_on find_order   started 12:00:01
    step  find_order                              ended   12:00:04

Evidence: both steps with their times.

What to do: change the plan, or declare the dependency to what starts the steps.
"""

from __future__ import annotations

from tracekit.model import RetryAdvice
from tracekit_analyzers.failures._load import sql_beside

code = "orchestration.dependency"
title = "Ran before what it needs"
retry = RetryAdvice.NONE
sql = sql_beside(__file__)
