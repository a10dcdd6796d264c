"""What an executor does with a bucket of traces: folds its lines, learns about tools, judges with the engine of one machine."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tracekit_analyzers import facts, fold
from tracekit_analyzers.engine import judged
from tracekit_analyzers.model import TraceVerdict
from tracekit_analyzers.relations import statement
from tracekit_analyzers.spark import rows

FOR_FACTS = (
    "record", "trace_id", "step_id", "kind", "name", "tool_name", "call_id", "status", "input_snapshot", "output_snapshot",
    "model_raw_output", "asked", "error_type", "started_at", "finished_at", "duration_ms", "file",
)  # fmt: skip
"""Columns of `lines` on which the facts about tools rest."""

TOOL_STEPS = "tool_name string, kind string, status string, duration_ms double, input string"
FACTS = "tool_name string, calls bigint, good_calls bigint, median_ms double, mad_ms double, schema string"
VERDICTS = "n bigint, verdict binary"
"""One row: a verdict, and where the first line of its trace stands in the log."""

_TOOL_STEPS = pa.schema(
    [
        ("tool_name", pa.string()),
        ("kind", pa.string()),
        ("status", pa.string()),
        ("duration_ms", pa.float64()),
        ("input", pa.string()),
    ]
)
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
_VERDICTS = pa.schema([("n", pa.int64()), ("verdict", pa.binary())])


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of the whole log and handed to every bucket."""

    columns: tuple[str, ...]
    facts: tuple[facts.Fact, ...]
    process_lines: bytes
    """Arrow stream."""
    alive: tuple[str, ...]
    lost: tuple[tuple[str, int], ...]
    """File, and how many lines it lacks."""
    limits: rows.Limits


def tool_steps(limits: rows.Limits) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The task over the lines of one bucket that gives its tool steps, for `tool_facts`."""

    def fold_bucket(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with rows.scratch(limits) as (con, _):
            rows.take_in(con, batches, FOR_FACTS)
            fold.steps(con)
            yield from rows.out(
                con,
                "select tool_name, kind, status, duration_ms, cast(input as varchar) as input from log.steps "
                "where kind = 'tool' and tool_name is not null",
                _TOOL_STEPS,
            )

    return fold_bucket


def tool_facts(limits: rows.Limits) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The task over all calls of some tools that learns the facts about them."""

    def learn(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with rows.scratch(limits) as (con, _):
            con.execute(
                "create table log.steps (tool_name varchar, kind varchar, status varchar, duration_ms double, input json)"
            )
            rows.insert(
                con, "log.steps", (batch.select(_TOOL_STEPS.names) for batch in batches), _TOOL_STEPS.names
            )
            facts.learn(con)
            columns = list(zip(*facts.learned(con), strict=True)) or [()] * len(_FACTS)
            arrays = [pa.array(column, field.type) for column, field in zip(columns, _FACTS, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=_FACTS)

    return learn


def verdicts(known: Any) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The task over the lines of one bucket that judges its traces."""

    def judge(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        told: Known = known.value
        with rows.scratch(told.limits) as (con, folder):
            rows.take_in(con, batches, told.columns, pa.ipc.open_stream(io.BytesIO(told.process_lines)))
            con.execute(statement("processes"))
            fold.mark_alive(con, told.alive)
            for file, lines in told.lost:
                con.execute("insert into log.lost values (?, ?)", [file, lines])
            buckets = fold.steps_and_traces(con)
            facts.take_over(con, told.facts)
            places = dict(
                con.execute(
                    "select t.trace_id, p.n from log.traces t join line_places p on p.rowid = t.first_n"
                ).fetchall()
            )
            yield from _packed(judged(con, folder, buckets), places)

    return judge


def _packed(found: Iterable[TraceVerdict], places: dict[str, int]) -> Iterator[Any]:
    """Verdicts as rows of `VERDICTS`; the driver unpacks only what its own executors packed."""
    numbers: list[int] = []
    values: list[bytes] = []
    for verdict in found:
        numbers.append(places[verdict.trace_id])
        values.append(pickle.dumps(verdict, protocol=5))
        if len(values) == rows.BATCH_ROWS:
            yield pa.RecordBatch.from_arrays(
                [pa.array(numbers, pa.int64()), pa.array(values, pa.binary())], schema=_VERDICTS
            )
            numbers, values = [], []
    yield pa.RecordBatch.from_arrays(
        [pa.array(numbers, pa.int64()), pa.array(values, pa.binary())], schema=_VERDICTS
    )
