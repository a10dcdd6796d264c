"""
The tool received something else than the model wrote.

A bad trace:

    model  asks  refund({"amount": 99.50})
    tool   refund received   {"amount": 9950}

Evidence: the raw text and the received input side by side, at the path where they differ in meaning. Key order,
`10` and `10.0`, `"10"` and `10`, and added defaults are not differences. A name that the model wrote twice with different
values is told as that: most readers of JSON silently take the last.

What to do: look at the code between model and tool; another answer of the model would be changed in the same way.
"""

from __future__ import annotations

from tracekit.model import RetryAdvice
from tracekit_analyzers.failures._load import sql_beside

code = "parameter.altered"
title = "Arguments were changed in transit"
retry = RetryAdvice.FIX_CODE
sql = sql_beside(__file__)
