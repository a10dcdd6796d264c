"""
The answer holds no text and asks for no tool.

A bad trace:

    model  ok   ""   0 output tokens

Evidence: an empty text, and no call.

What to do: ask once more; if it stays empty, look at stop sequences and output limits.
"""

from __future__ import annotations

from tracekit.model import RetryAdvice
from tracekit_analyzers.failures._load import sql_beside

code = "output.empty"
title = "The model answered nothing"
retry = RetryAdvice.REPROMPT
sql = sql_beside(__file__)
