"""
The service was not there: it answered with a 5xx status, it refused the connection, or its name could not be found.

A bad trace:

    tool  find_order   error  ConnectError: connection refused

Evidence: the status or the exception, and what it tells of the request: never sent (refused, unreachable, no such
name, no connection in time), answered (a 5xx status), or not known (a connection that broke). An effect that was sent
and whose answer was then lost is `timeout.no_answer`.

What to do: try again after a wait, then the declared fallback. A 5xx other than 503 may have come after the work was done.
"""

from __future__ import annotations

from tracekit.model import RetryAdvice
from tracekit_analyzers.failures._load import sql_beside

code = "timeout.unavailable"
title = "The service could not be reached"
retry = RetryAdvice.BACKOFF
sql = sql_beside(__file__)
