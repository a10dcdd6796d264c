"""
The name of the call is none of the tools that the agent has.

A bad trace:

    model  asks  search_cocktail_by_category({...})
    tool   No such function name: search_cocktail_by_category

Evidence: the dispatcher's answer.

What to do: ask once more with the list of tools.
"""

from __future__ import annotations

from tracekit.model import RetryAdvice
from tracekit_analyzers.failures._load import sql_beside

code = "output.unknown_tool"
title = "The model asked for a tool that does not exist"
retry = RetryAdvice.REPROMPT
sql = sql_beside(__file__)
