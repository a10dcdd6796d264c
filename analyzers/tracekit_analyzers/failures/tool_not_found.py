"""
What was asked for does not exist.

A bad trace:

    tool  open_page   error  HTTPError: 404 Not Found

Evidence: status 404, or the words.

What to do: let the model see it and look for the right name.
"""

from __future__ import annotations

from tracekit.model import RetryAdvice
from tracekit_analyzers.failures._load import sql_beside

code = "tool.not_found"
title = "Nothing by that name"
retry = RetryAdvice.REPROMPT
sql = sql_beside(__file__)
