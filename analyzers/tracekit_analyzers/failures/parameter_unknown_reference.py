"""
An argument is an id that no earlier output, user or system text holds: the model invented it.

A bad trace:

    tool   find_user      answers  {"payment": "credit_card_5634230"}
    model  asks           refund({"payment_id": "credit_card_7334"})

Evidence: the id has no lineage, while ids of the same shape in the same log do have one.

What to do: go back to the model step that wrote it and let it look the id up.
"""

from __future__ import annotations

from tracekit.model import RetryAdvice
from tracekit_analyzers.failures._load import sql_beside

code = "parameter.unknown_reference"
title = "An id that nothing gave"
retry = RetryAdvice.RESTORE
sql = sql_beside(__file__)
