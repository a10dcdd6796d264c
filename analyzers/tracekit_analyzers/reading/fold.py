"""Lines to processes, messages, steps and traces: the part of an analysis that comes before relating and judging."""

from __future__ import annotations

from collections.abc import Collection

import duckdb

from tracekit_analyzers.reading import nesting
from tracekit_analyzers.reading.damage import Damage
from tracekit_analyzers.reading.liveness import any_held
from tracekit_analyzers.relations import frugal, statement

BUCKET_STEPS = 250_000
"""
Traces are independent of each other: they are related and diagnosed in groups of about this many steps.

The engine shares a scan among its threads by groups of 122,880 rows: with half as many steps one core mostly waits.
"""


def settle_lines(con: duckdb.DuckDBPyConnection, damage: Damage) -> None:
    """Put away what is nested too deep, name values of a wrong type and keep them as text; give ids to steps without one."""
    nesting.put_away(con, damage)
    _tell_wrong_types(con, damage)
    con.execute(statement("nameless"))


def _tell_wrong_types(con: duckdb.DuckDBPyConnection, damage: Damage) -> None:
    rows = con.execute(statement("wrong_types")).fetchall()
    for _, file, source_line, counted_line, field, said in rows:
        line = source_line if source_line is not None else counted_line
        # A marker stands where the line itself was already told as damaged, or the recorder found no JSON.
        if not said.startswith('{"$tk"'):
            reason = f"{_word(field, said)} {field}: {said[:60]}"
            damage.bad(file=file, line=line, offset=None, reason=reason, data=said)
    if rows:
        con.execute(
            statement("keep_wrong_types").replace("{wrong_types}", statement("wrong_types").rstrip("; \n"))
        )


def _word(field: str, said: str) -> str:
    """The damage code of a value that its field can't hold."""
    if field == "record":
        return "unknown_record"
    if said.lower().lstrip("-") in ("nan", "inf", "infinity"):
        return "not_finite"
    return "out_of_range" if said.lstrip("-").isdigit() else "wrong_type"


def processes(con: duckdb.DuckDBPyConnection) -> list[str]:
    """Make `processes`; returns the ids of those that live, by the locks on their files."""
    con.execute(statement("processes"))
    rows = con.execute("select process_id, files from processes where exited_at is null").fetchall()
    alive = [process_id for process_id, names in rows if any_held(names)]
    mark_alive(con, alive)
    return alive


def mark_alive(con: duckdb.DuckDBPyConnection, alive: Collection[str]) -> None:
    """Say of the processes named *alive* that they live."""
    if alive:
        con.execute(
            "update processes set alive = true where process_id in (select unnest(?))", [sorted(alive)]
        )


def steps_and_traces(con: duckdb.DuckDBPyConnection) -> int:
    """
    Make `log.message_lines`, `log.steps` and `log.traces`, and let go of the lines.

    Returns the number of buckets into which the traces were put.
    """
    frugal.run(con, statement("message_lines"))
    buckets = steps(con)
    frugal.run(con, statement("traces"))
    con.execute("drop table lines")
    return buckets


def steps(con: duckdb.DuckDBPyConnection) -> int:
    """Make `log.steps`; returns the number of buckets into which the traces were put."""
    row = con.execute(
        "select count(*), coalesce(getvariable('memory_share'), 1.0) from lines where record = 'step'"
    ).fetchone()
    count, share = (int(row[0]), float(row[1])) if row is not None else (0, 1.0)
    wanted = max(1, -(-count // max(1, int(BUCKET_STEPS * share))))
    frugal.run(con, statement("step_keys"), {"buckets": wanted})
    ranges = con.execute(
        "select bucket, min(first_n), max(highest_n) from step_keys group by bucket order by bucket"
    ).fetchall()
    # A log without steps has an empty `log.steps`, of one bucket without lines.
    for bucket, first_line, last_line in ranges or [(0, 0, -1)]:
        _fold_bucket(con, bucket, first_line, last_line)
    con.execute("drop table step_keys")
    return max(1, len(ranges))


def _fold_bucket(con: duckdb.DuckDBPyConnection, bucket: int, first_line: int, last_line: int) -> None:
    sql = statement("steps")
    if bucket > 0:
        sql = sql.replace("create or replace table log.steps as", "insert into log.steps")
    frugal.run(con, sql, {"bucket": bucket, "first_line": first_line, "last_line": last_line})
