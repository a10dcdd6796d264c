"""
The model goes on with data that no tool, user or system text gave it: assumed, simulated, recalled, or a
placeholder.

A bad trace:

    tool   search      answers  (nothing)
    model  "Assuming the population is 1,200,000, the answer is ..."

Evidence: the model's own words for it, a result that was empty or failed before it, and numbers in it that have no
lineage; in a talk between agents, the message that brings in most that nothing before it had given, in words, numbers or
code, and on which the others go on. Soft: alone it is a hint, never a proof.

What to do: go back to that step and have the data looked up.
"""

from __future__ import annotations

from tracekit.model import RetryAdvice
from tracekit_analyzers.failures._load import sql_beside

code = "output.unfounded"
title = "The model states what nothing gave it"
retry = RetryAdvice.REPROMPT
sql = sql_beside(__file__)
