"""
The service said to wait: status 429, a quota, "too many requests".

A bad trace:

    model  ask   error  RateLimitError: 429 Too Many Requests, retry after 20 s

Evidence: the status or the words, with Retry-After where it was given.

What to do: wait as long as Retry-After says, else 1, 2, 4 seconds with jitter, within a total limit.
"""

from __future__ import annotations

from tracekit.model import RetryAdvice
from tracekit_analyzers.failures._load import sql_beside

code = "timeout.rate_limited"
title = "Too many requests"
retry = RetryAdvice.BACKOFF
sql = sql_beside(__file__)
