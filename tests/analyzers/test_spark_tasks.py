"""What executors do, without Spark between them: a trace gets the verdict of one machine, or is told where it does not fit."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.analyzers.case_log import hex_id
from tests.analyzers.one_trace import write_one_trace
from tests.analyzers.spark_help import here
from tracekit_analyzers.reports import as_json

pytest.importorskip("pyarrow", reason="pyarrow is not installed: make spark")

import pyarrow as pa

from tracekit_analyzers.spark import judging, reading, rows, verdict_rows
from tracekit_analyzers.spark.inputs import LogFile, key_of
from tracekit_analyzers.spark.troubles import understood

HUGE_BYTES = 20 << 20


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One trace of 20 MB, and a small one before it."""
    path = tmp_path_factory.mktemp("huge") / "log.jsonl"
    with path.open("w") as out:
        out.write(json.dumps(_step("small", 0)) + "\n")
        place = 0
        while out.tell() < HUGE_BYTES:
            out.write(json.dumps(_step("huge", place)) + "\n")
            place += 1
    return path


def _step(trace: str, place: int) -> dict[str, Any]:
    failed = place % 500 == 0
    return {
        "record": "step", "trace_id": hex_id(trace, 32), "step_id": hex_id(f"{trace} {place}", 16), "kind": "tool",
        "tool_name": "read_page", "input_snapshot": {"page": f"P-{place}"}, "status": "error" if failed else "ok",
        "output_snapshot": {"text": f"{hex_id(str(place), 32)} " * 300, "next": f"P-{place + 1}"},
        "error_type": "NotFound" if failed else None,
    }  # fmt: skip


def _judged(path: Path, memory_mb: int) -> list[dict[str, Any]]:
    """The traces of a log, judged by the tasks of executors that have *memory_mb* for it."""
    limits, columns = rows.Limits(memory_mb, 1), rows.line_columns()
    key = key_of(path.as_uri())
    file = LogFile(0, path.as_uri(), str(path), path.stat().st_size, "native", splittable=True, bom=False)
    plan = reading.Plan({key: file}, {(key, 0): reading.Start(0, 0)}, 1, columns, rows.Limits(1000, 1))
    sent = [row for batch in _ran(reading.splits, plan, _lines(path)) for row in batch.to_pylist()]
    calls = [row["parcel"] for row in sent if row["what"] == rows.CALLS]
    steps = [
        row["parcel"] for batch in judging.tool_steps(limits)(_parcels(calls)) for row in batch.to_pylist()
    ]
    facts = [
        tuple(row.values())
        for batch in judging.tool_facts(limits)(_parcels(steps))
        for row in batch.to_pylist()
    ]
    known = judging.Known(columns, tuple(facts), (), (), (), limits, for_judge=False)
    lines = [row["parcel"] for row in sent if row["what"] == rows.LINES]
    found = [row for batch in _ran(judging.verdicts, known, _parcels(lines)) for row in batch.to_pylist()]
    ordered = sorted((row["n"], row["place"], row["text"]) for row in found)
    return [as_json.trace(verdict) for verdict, _ in verdict_rows.unpacked(ordered)]


def _ran(
    task: Callable[[Any], Callable[[Iterator[Any]], Iterator[Any]]], shared: Any, batches: Iterator[Any]
) -> Iterator[Any]:
    return task(SimpleNamespace(value=shared))(batches)


def _lines(path: Path) -> Iterator[Any]:
    with path.open("rb") as stream:
        while lines := stream.readlines(1 << 20):
            values = pa.array([line.rstrip(b"\n") for line in lines], pa.binary())
            names = pa.repeat(path.as_uri(), len(lines))
            yield pa.record_batch({"path": names, "start": pa.repeat(0, len(lines)), "value": values})


def _parcels(parcels: list[bytes]) -> Iterator[Any]:
    for parcel in parcels:
        yield rows.travelling(rows.LINES, 1, bucket=0, parcel=parcel)


def test_tasks_of_executors_give_a_large_trace_the_verdict_of_one_machine(log: Path) -> None:
    one = here([log])

    assert one["traces"][1]["steps"] > 1_500
    assert len(one["traces"][1]["diagnoses"]) > 2
    assert _judged(log, memory_mb=400) == one["traces"]


def test_a_trace_that_is_related_in_pieces_is_judged_as_on_one_machine(tmp_path: Path) -> None:
    log = write_one_trace(tmp_path / "log.jsonl", 1500)

    assert _judged(log, memory_mb=90) == here([log])["traces"]


def test_a_trace_that_does_not_fit_is_told_with_the_setting(log: Path) -> None:
    with pytest.raises(RuntimeError) as raised:
        _judged(log, memory_mb=8)

    found = understood(raised.value)
    assert found.code == "spark.memory"
    assert "--conf spark.tracekit.memoryMb=16" in str(found)
