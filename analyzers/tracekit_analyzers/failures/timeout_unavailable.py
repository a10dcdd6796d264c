"""
The service answered with a 5xx status, refused or dropped the connection, or its name could not be found.

A bad trace:

    tool  find_order   error  ConnectError: connection refused

Evidence: the status or the exception; a refused connection was never sent, a reset one may have been.

What to do: try again after a wait, then the declared fallback. After a reset of an effect, settle it first.
"""

from __future__ import annotations

from tracekit.model import RetryAdvice
from tracekit_analyzers.failures._load import sql_beside

code = "timeout.unavailable"
title = "The service could not be reached"
retry = RetryAdvice.BACKOFF
sql = sql_beside(__file__)
