"""What an executor does with a bucket of traces: folds its lines, learns about tools, judges with the engine of one machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from tracekit_analyzers.engine import judged
from tracekit_analyzers.model import TraceVerdict
from tracekit_analyzers.reading import fold
from tracekit_analyzers.relations import facts, statement
from tracekit_analyzers.spark import parcels, rows, verdict_rows
from tracekit_analyzers.verdicts.judging import is_open, steps_of

_FOR_FACTS = (
    "record", "trace_id", "step_id", "kind", "name", "tool_name", "call_id", "status", "input_snapshot", "output_snapshot",
    "model_raw_output", "asked", "error_type", "started_at", "finished_at", "duration_ms", "file",
)  # fmt: skip
"""Columns of `lines` on which the facts about tools rest."""

_ONLY_WHETHER = ("output_snapshot", "asked", "model_raw_output")
"""Of these the facts need only whether there is one."""

_PARTS = 32
"""Tools are learned about in so many groups."""

FACTS = "tool_name string, calls bigint, good_calls bigint, median_ms double, mad_ms double, schema string"

_FACTS = pa.schema(
    [
        ("tool_name", pa.string()),
        ("calls", pa.int64()),
        ("good_calls", pa.int64()),
        ("median_ms", pa.float64()),
        ("mad_ms", pa.float64()),
        ("schema", pa.string()),
    ]
)
_TOOL_STEPS = pa.schema(
    [
        ("bucket", pa.int32()),
        ("tool_name", pa.string()),
        ("kind", pa.string()),
        ("status", pa.string()),
        ("duration_ms", pa.float64()),
        ("input", pa.string()),
    ]
)


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of the whole log and handed to every bucket."""

    columns: tuple[str, ...]
    facts: tuple[facts.Fact, ...]
    processes: tuple[bytes, ...]
    """Parcels of their lines."""
    alive: tuple[str, ...]
    lost: tuple[tuple[str, int], ...]
    """File, and how many lines it lacks."""
    limits: rows.Limits
    for_judge: bool
    """Whether the steps of runs that the rules leave open are wanted too."""


def for_facts(lines: Any) -> Any:
    """What the facts about tools need of *lines* (an Arrow table)."""
    steps = lines.filter(pc.equal(lines["record"], "step")).select(("n", *_FOR_FACTS))
    for name in _ONLY_WHETHER:
        there = pc.fill_null(pc.not_equal(steps[name], "null"), False)
        place = steps.column_names.index(name)
        steps = steps.set_column(
            place, name, pc.if_else(there, pa.scalar("true"), pa.scalar(None, pa.string()))
        )
    return steps


def tool_steps(limits: rows.Limits) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The task over the `CALLS` of one bucket that gives its tool steps, in parcels with the group of their tool as bucket."""

    def fold_bucket(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with rows.scratch(limits) as (con, _):
            rows.take_in(con, _parcels(batches), _FOR_FACTS)
            fold.steps(con)
            found = rows.out(
                con,
                f"select cast(hash('tool' || tool_name) % {_PARTS} as integer) as bucket, tool_name, kind, status, "
                "duration_ms, cast(input as varchar) as input "
                "from log.steps where kind = 'tool' and tool_name is not null",
                _TOOL_STEPS,
            )
            for part, steps in parcels.cut(found, "bucket"):
                parcel = parcels.packed(steps.drop_columns(["bucket"]))
                yield rows.travelling(rows.CALLS, 1, bucket=part, parcel=parcel)

    return fold_bucket


def tool_facts(limits: rows.Limits) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The task over all calls of some tools that learns the facts about them."""

    def learn(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with rows.scratch(limits) as (con, _):
            con.execute(
                "create table log.steps (tool_name varchar, kind varchar, status varchar, duration_ms double, input json)"
            )
            rows.insert(con, "log.steps", _parcels(batches))
            facts.learn(con)
            columns = list(zip(*facts.learned(con), strict=True)) or [()] * len(_FACTS)
            arrays = [pa.array(column, field.type) for column, field in zip(columns, _FACTS, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=_FACTS)

    return learn


def verdicts(known: Any) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The task over the lines of one bucket, and what was handed to it, that judges its traces."""

    def judge(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        told: Known = known.value
        with rows.scratch(told.limits) as (con, folder):
            contexts: list[tuple[str, str]] = []
            rows.take_in(con, chain(_parcels(batches, contexts), told.processes), told.columns)
            _take_contexts(con, contexts)
            con.execute(statement("processes"))
            fold.mark_alive(con, told.alive)
            for file, lines in told.lost:
                con.execute("insert into log.lost values (?, ?)", [file, lines])
            buckets = fold.steps_and_traces(con)
            facts.take_over(con, told.facts)
            places = _places(con)
            found = judged(con, folder, buckets)
            yield from verdict_rows.packed(
                (places[verdict.trace_id], (verdict, _for_judge(con, verdict, told))) for verdict in found
            )

    return judge


def _for_judge(con: duckdb.DuckDBPyConnection, verdict: TraceVerdict, told: Known) -> Iterable[Any]:
    return steps_of(con, verdict.trace_id) if told.for_judge and is_open(verdict) else ()


def _parcels(
    batches: Iterable[pa.RecordBatch], contexts: list[tuple[str, str]] | None = None
) -> Iterator[bytes]:
    """The parcels of rows of `rows.FORM`; contexts among them, as digest and list of hashes, go into *contexts*."""
    for batch in batches:
        columns = (batch.column(name).to_pylist() for name in ("what", "hash", "text", "parcel"))
        for what, name, text, parcel in zip(*columns, strict=True):
            if what == rows.CONTEXT and contexts is not None:
                contexts.append((name, text))
            else:
                yield parcel


def _take_contexts(con: duckdb.DuckDBPyConnection, contexts: list[tuple[str, str]]) -> None:
    """Let the contexts of traces of other buckets be found by their digests."""
    if contexts:
        con.execute(
            "insert into log.contexts_elsewhere select distinct digest, cast(cast(hashes as json) as varchar[]) "
            "from (select unnest(?) as digest, unnest(?) as hashes)",
            [[name for name, _ in contexts], [text for _, text in contexts]],
        )


def _places(con: duckdb.DuckDBPyConnection) -> dict[str, int]:
    """Where the first line of each trace stands in the whole log."""
    found = con.execute(
        "select t.trace_id, p.n from log.traces t join line_places p on p.rowid = t.first_n"
    ).fetchall()
    return dict(found)
