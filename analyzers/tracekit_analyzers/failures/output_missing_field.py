"""
The model's structured answer lacks a field that the agent reads.

A bad trace:

    model  {"decision": "refund"}
    step   error  KeyError: 'amount'

Evidence: the exception of the step that read the answer, and the answer.

What to do: ask once more and name the field; better give the model the schema.
"""

from __future__ import annotations

from tracekit.model import RetryAdvice
from tracekit_analyzers.failures._load import sql_beside

code = "output.missing_field"
title = "The answer lacks a field"
retry = RetryAdvice.REPROMPT
sql = sql_beside(__file__)
