"""
The model or a filter in front of it declined to answer.

A bad trace:

    model  finish_reason content_filter

Evidence: the finish reason, or a short answer that is nothing but a refusal.

What to do: look at the request; asking the same again gives the same.
"""

from __future__ import annotations

from tracekit.model import RetryAdvice
from tracekit_analyzers.failures._load import sql_beside

code = "output.refused"
title = "The model declined"
retry = RetryAdvice.REPROMPT
sql = sql_beside(__file__)
