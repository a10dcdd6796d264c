"""
The arguments do not fit the tool: a wrong type, a missing or surplus field, a value outside the allowed ones.

A bad trace:

    model  asks  page_down({"": ""})
    tool   page_down   error  TypeError: unexpected keyword argument ''

Evidence: the tool's own rejection or the schema, with the model's raw text beside it.

What to do: ask the model once more and show it the error.
"""

from __future__ import annotations

from tracekit.model import RetryAdvice
from tracekit_analyzers.failures._load import sql_beside

code = "parameter.generated"
title = "The model wrote wrong arguments"
retry = RetryAdvice.REPROMPT
sql = sql_beside(__file__)
