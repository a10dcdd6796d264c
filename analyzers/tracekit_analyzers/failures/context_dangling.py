"""
A tool received the name of a value instead of the value, or a step depends on one that does not exist.

A bad trace:

    tool  send_mail(body="Your refund of {{refund_amount}} is on its way")

Evidence: the unfilled name in the received input; no step by that name.

What to do: go back to the step that should have produced the value.
"""

from __future__ import annotations

from tracekit.model import RetryAdvice
from tracekit_analyzers.failures._load import sql_beside

code = "context.dangling"
title = "A placeholder that nothing filled"
retry = RetryAdvice.RESTORE
sql = sql_beside(__file__)
