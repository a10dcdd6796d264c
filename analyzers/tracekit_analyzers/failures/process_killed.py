"""
The log ends with open steps and no closing line: the process was killed or the machine stopped.

A bad trace:

    step  task     running
    tool  refund   running        (no exit line; nobody holds the log)

Evidence: the open steps, and that nobody holds the log any more.

What to do: resume: finished calls answer from the journal; an effect that was open is settled first.
"""

from __future__ import annotations

from tracekit.model import RetryAdvice
from tracekit_analyzers.failures._load import sql_beside

code = "process.killed"
title = "The process died"
retry = RetryAdvice.RESTORE
sql = sql_beside(__file__)
