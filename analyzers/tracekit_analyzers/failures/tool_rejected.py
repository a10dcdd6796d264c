"""
The tool answered that it will not do it: a rule of the business, not a fault of the arguments.

A bad trace:

    tool  book   answers  Error: not enough seats on flight HAT229

Evidence: the tool's own words.

What to do: let the model see the refusal once and choose another way; then a person.
"""

from __future__ import annotations

from tracekit.model import RetryAdvice
from tracekit_analyzers.failures._load import sql_beside

code = "tool.rejected"
title = "The tool refused"
retry = RetryAdvice.REPROMPT
sql = sql_beside(__file__)
