"""
The tool itself broke, with no word about its arguments.

A bad trace:

    tool  read_sheet   error  UnboundLocalError: cannot access local variable 'res'

Evidence: its exception. A call that no model of the run asked for, with other arguments than the tool takes, is told here too:
the code called it wrongly.

What to do: mend the tool; the model can go round it at best.
"""

from __future__ import annotations

from tracekit.model import RetryAdvice
from tracekit_analyzers.failures._load import sql_beside

code = "tool.error"
title = "The tool failed"
retry = RetryAdvice.FIX_CODE
sql = sql_beside(__file__)
