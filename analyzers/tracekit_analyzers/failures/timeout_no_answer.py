"""
A request was sent and no answer came back; it may have been carried out all the same.

A bad trace:

    tool  refund(order_id="A-17")   started 12:00:01
    tool  refund                    unknown, 12:00:11, ReadTimeout

Evidence: the step started, holds no output, and was closed at its limit or by a time-out exception; or the connection
of an effect broke after the request was sent; or its effect stands as `executed_unknown` in the ledger.

What to do: a read is tried again after a wait. A payment is settled first: ask the service by probe or by key
whether it happened. No answer is not a refusal.
"""

from __future__ import annotations

from tracekit.model import RetryAdvice
from tracekit_analyzers.failures._load import sql_beside

code = "timeout.no_answer"
title = "No answer came"
retry = RetryAdvice.BACKOFF
sql = sql_beside(__file__)
