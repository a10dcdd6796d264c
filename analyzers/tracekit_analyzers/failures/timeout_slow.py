"""
A step answered, but far outside its tool's usual time, and a later step ran into a limit.

A bad trace:

    tool  search   ok      41,200 ms   (usual: 900 ms over 32 calls)
    task           error   deadline exceeded

Evidence: the time against the tool's own median and spread in the same log, with the number of calls that they rest
on, and the later limit.

What to do: give the tool its own time limit, or look why it was slow; the later step is not at fault.
"""

from __future__ import annotations

from tracekit.model import RetryAdvice
from tracekit_analyzers.failures._load import sql_beside

code = "timeout.slow"
title = "Answered far too late"
retry = RetryAdvice.BACKOFF
sql = sql_beside(__file__)
