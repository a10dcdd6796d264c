"""
The tool's answers no longer have the shape that they had, or its endpoint is gone.

A bad trace:

    tool  get_order   answers  {"order_id": "A-17", "total": 99.5}     (41 times)
    tool  get_order   answers  {"orderId": "A-17", "amount": 99.5}

Evidence: keys that every other good answer has and this one lacks, with new ones in their place; a value of another
type; or the words "no such endpoint".

What to do: adapt the tool; never tried again by itself.
"""

from __future__ import annotations

from tracekit.model import RetryAdvice
from tracekit_analyzers.failures._load import sql_beside

code = "tool.schema_changed"
title = "The tool answers in another shape"
retry = RetryAdvice.FIX_CODE
sql = sql_beside(__file__)
