"""
The tool lacks the right, the key or the subscription.

A bad trace:

    tool  read_file   error  PermissionError: operation not permitted

Evidence: status 401 or 403, or the words.

What to do: a person has to give the right; trying again changes nothing.
"""

from __future__ import annotations

from tracekit.model import RetryAdvice
from tracekit_analyzers.failures._load import sql_beside

code = "tool.permission"
title = "Not allowed"
retry = RetryAdvice.REPROMPT
sql = sql_beside(__file__)
