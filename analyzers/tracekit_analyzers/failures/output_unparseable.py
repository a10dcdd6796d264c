"""
The answer was not in the form that the agent reads: no JSON, no action, two actions instead of one.

A bad trace:

    model  "Let me look at it."
    user   You must answer with exactly one command in a fenced block; yours had none.

Evidence: the parser's error, the harness's complaint right after the answer, or argument text that is closed but is
no JSON.

What to do: ask once more and show the complaint.
"""

from __future__ import annotations

from tracekit.model import RetryAdvice
from tracekit_analyzers.failures._load import sql_beside

code = "output.unparseable"
title = "The model's answer could not be read"
retry = RetryAdvice.REPROMPT
sql = sql_beside(__file__)
