"""Where a failed trace may go on: its last clean step, why later ones are not clean, and what going on there saves."""

from __future__ import annotations

import duckdb

from tracekit_analyzers.model import Evidence, Resumable
from tracekit_analyzers.relations import statement


def points(con: duckdb.DuckDBPyConnection) -> dict[str, Resumable]:
    """The resumable point of each trace that has one and did not end well, by trace id."""
    found: dict[str, Resumable] = {}
    for row in con.execute(statement("resumable")).fetchall():
        trace_id, step, seq, calls, tokens, seconds, risk, reasons = row
        why = tuple(Evidence(step=item["step"], seq=item["seq"], what=item["what"]) for item in reasons or ())
        found[trace_id] = Resumable(
            trace_id, step, seq, calls, tokens or 0, round(seconds or 0.0, 3), risk, why
        )
    return found
