"""
A command ended with an exit code other than 0. That is data from the tool, and not always a failure of the agent.

A bad trace:

    tool  bash("pytest -q")   exit code 1

Evidence: the exit code and the first words of its output.

What to do: read the output; a failing test may be what was asked for.
"""

from __future__ import annotations

from tracekit.model import RetryAdvice
from tracekit_analyzers.failures._load import sql_beside

code = "tool.exit_code"
title = "A command ended with an error code"
retry = RetryAdvice.NONE
sql = sql_beside(__file__)
