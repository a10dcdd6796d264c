"""
Messages that an earlier model call of the same conversation was sent are gone in a later one, and nothing recorded
that they were summed up.

A bad trace:

    model  step 6   messages 1 2 3 4 5 6
    model  step 9   messages 1 2     5 6 7 8

Evidence: the set difference of the message hashes of both calls.

What to do: go on from the last step whose context was complete; fix what cuts the history.
"""

from __future__ import annotations

from tracekit.model import RetryAdvice
from tracekit_analyzers.failures._load import sql_beside

code = "context.truncated"
title = "Messages vanished from the context"
retry = RetryAdvice.RESTORE
sql = sql_beside(__file__)
