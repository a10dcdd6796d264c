"""
The failure classes, in the order in which they are documented.

A class is a module with `code`, `title`, `retry` and `sql` (see `FailureClass` in model.py). To run them on one DuckDB
connection that holds the relations: execute every statement of `PRELUDE` once, then the `sql` of each class. The rows of
a class are `trace_id, failed_step, cause_step, confidence, rule, message, evidence`; evidence is a list of
`{step, what, path, value}`. `verdict.judge` then says which diagnosis of a trace is the primary one.
"""

from __future__ import annotations

from tracekit_analyzers.failures._load import prelude
from tracekit_analyzers.model import FailureClass

PRELUDE: tuple[str, ...] = prelude()
CLASSES: tuple[FailureClass, ...] = ()
