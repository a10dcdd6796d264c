"""
A step ran before a step that it depends on had ended, or after that one had failed; or the run itself did something
after which another thing that was wanted could not be done any more.

A bad trace:

    step  compute_refund  depends_on find_order   started 12:00:01
    step  find_order                              ended   12:00:04

    tool  get_order       answers  {"order_id": "W17", "status": "pending"}
    tool  modify_items    answers  {"order_id": "W17", "status": "pending (item modified)"}
    tool  modify_address  answers  Error: non-pending order cannot be modified

Evidence: both steps with their times; or the refusal with the state it asks for, the earlier answer in which the object
had that state, and the act in between; or the agent's own words that an act of its own cannot be taken back.

What to do: change the plan, or declare the dependency to what starts the steps.
"""

from __future__ import annotations

from tracekit.model import RetryAdvice
from tracekit_analyzers.failures._load import sql_beside

code = "orchestration.dependency"
title = "Done in the wrong order"
retry = RetryAdvice.NONE
sql = sql_beside(__file__)
