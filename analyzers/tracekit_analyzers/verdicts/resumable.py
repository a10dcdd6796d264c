"""Where a failed trace may go on: its last clean step, why later ones are not clean, and what going on there saves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import duckdb

from tracekit_analyzers.model import Diagnosis, Evidence, Resumable
from tracekit_analyzers.relations import statement
from tracekit_analyzers.verdicts.verdict import Verdict


def points(con: duckdb.DuckDBPyConnection, verdicts: Iterable[Verdict]) -> dict[str, Resumable]:
    """The resumable point by trace id, of each trace that has a clean step before the first one that is not."""
    _place(con, list(verdicts))
    found: dict[str, Resumable] = {}
    for row in con.execute(statement("resumable")).fetchall():
        trace_id, step, seq, calls, tokens, seconds, risk, reasons = row
        why = tuple(Evidence(step=item["step"], seq=item["seq"], what=item["what"]) for item in reasons or ())
        found[trace_id] = Resumable(
            trace_id, step, seq, calls, tokens or 0, round(seconds or 0.0, 3), risk, why
        )
    return found


def _place(con: duckdb.DuckDBPyConnection, verdicts: list[Verdict]) -> None:
    """Hand over where the primary verdicts break their traces, and which failed steps the agent got over."""
    breaks = [
        (found.trace_id, found.cause_seq or found.failed_seq, _what(found))
        for verdict in verdicts
        if verdict.primary is not None
        for found in (verdict.diagnoses[verdict.primary],)
    ]
    recovered = [
        (found.trace_id, found.failed_step)
        for verdict in verdicts
        for found in verdict.diagnoses
        if found.recovered and found.failed_step
    ]
    con.execute("create or replace temp table verdict_breaks (trace_id varchar, seq bigint, what varchar)")
    con.execute("create or replace temp table recovered_steps (trace_id varchar, step_id varchar)")
    if breaks:
        con.execute("insert into verdict_breaks select unnest(?), unnest(?), unnest(?)", _columns(breaks))
    if recovered:
        con.execute("insert into recovered_steps select distinct unnest(?), unnest(?)", _columns(recovered))


def _what(found: Diagnosis) -> str:
    if found.cause_step != found.failed_step:
        return f"it caused {found.code} at step {found.failed_seq}"
    return f"{found.code}: {found.message}"


def _columns(rows: Sequence[tuple[object, ...]]) -> list[list[object]]:
    return [list(column) for column in zip(*rows, strict=True)]
