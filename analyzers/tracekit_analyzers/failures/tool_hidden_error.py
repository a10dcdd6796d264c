"""
The call counts as successful, but the body of the answer reports a failure.

A bad trace:

    tool  find_flights   ok   {"error": "client crashed", "response": ""}

Evidence: the status beside the error field.

What to do: have the tool raise; until then treat the answer as an error.
"""

from __future__ import annotations

from tracekit.model import RetryAdvice
from tracekit_analyzers.failures._load import sql_beside

code = "tool.hidden_error"
title = "A failure under a good status"
retry = RetryAdvice.FIX_CODE
sql = sql_beside(__file__)
