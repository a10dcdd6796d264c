"""What travels between executors and the driver arrives as it was: verdicts, steps for a judge, parcels of lines."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from typing import Any

import pytest

from tracekit.model import RetryAdvice
from tracekit_analyzers.model import Diagnosis, Evidence, Resumable, Source, TraceVerdict
from tracekit_analyzers.verdicts.judging import JudgedStep

pytest.importorskip("pyarrow", reason="pyarrow is not installed: make spark")

import pyarrow as pa

from tracekit_analyzers.spark import parcels, rows, verdict_rows

SOURCE = Source(file="a/b.jsonl", trace_index=3, line=4, index=5)
EVIDENCE = Evidence(
    step="s1", seq=1, what='said "99,50" \n\x00 é 退', path="$.input.amount", value="[1,\\u0041]"
)
FULL = TraceVerdict(
    trace_id="t" * 32, task_id="ticket-7", name="refund", status="error", steps=7, source=SOURCE,
    diagnoses=tuple(
        Diagnosis(
            trace_id="t" * 32, failed_step="s2", failed_seq=2, cause_step="s1", cause_seq=1, code="timeout.no_answer",
            confidence=0.1 + 0.2, rule="timeout.no_answer/x", message="no answer", evidence=(EVIDENCE, EVIDENCE), retry=advice,
            recovered=True, source=SOURCE, cause_source=Source("c.jsonl", 1, 2, 3), tool="refund",
        )
        for advice in RetryAdvice
    ),
    primary=1,
    resumable=Resumable("t" * 32, "s1", 1, 2, 3, 0.1, "high", (EVIDENCE,)),
    started_at=datetime(2026, 11, 30, 20, 41, 2, 345678, tzinfo=UTC), duration_ms=1234.5678, tokens=1 << 40, cost=0.0123, question="pay?",
)  # fmt: skip
EMPTY = TraceVerdict("u" * 32, None, "chat", "unknown", 0, Source("x"), (), None, None)
STEPS = (
    JudgedStep("s1", 1, "s0", "tool", "pay", "seller", "pay", "error", '{"n": 1}', "out", "raw \ud7ff", "E", "msg"),
    JudgedStep("s2", 2, None, "model", "chat", None, None, "ok", None, None, None, None, None),
)  # fmt: skip


def _values(value: Any) -> list[tuple[str, Any]]:
    """Every field of a dataclass and of those in it."""
    found = []
    for field in dataclasses.fields(value):
        held = getattr(value, field.name)
        found.append((f"{type(value).__name__}.{field.name}", held))
        for item in held if isinstance(held, tuple) else (held,):
            if dataclasses.is_dataclass(item):
                found += _values(item)
    return found


def test_every_field_of_a_verdict_arrives() -> None:
    unset = [name for name, held in _values(FULL) if held is None or held == () or held is False]
    assert unset == [], "the verdict of this test has to fill every field that there is"
    runs = [(1, (EMPTY, ())), (1 << 45, (FULL, STEPS))]

    arrived = list(verdict_rows.unpacked(_rows(verdict_rows.packed(runs))))

    assert arrived == [(EMPTY, ()), (FULL, STEPS)]
    (_, (full, _)) = arrived
    assert [(name, type(held)) for name, held in _values(full)] == [
        (name, type(held)) for name, held in _values(FULL)
    ]
    assert full.started_at is not None
    assert full.started_at.tzinfo is UTC


def _rows(batches: Any) -> list[tuple[int, int, str]]:
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


def test_many_steps_of_a_run_come_in_batches_of_bounded_size() -> None:
    long = dataclasses.replace(STEPS[0], output="x" * (1 << 20))

    batches = list(verdict_rows.packed([(7, (EMPTY, (long,) * 40))]))

    assert max(batch.nbytes for batch in batches) < 18 << 20
    ((verdict, steps),) = verdict_rows.unpacked(_rows(batches))
    assert (verdict, len(steps), set(steps)) == (EMPTY, 40, {long})


def test_lines_are_cut_by_bucket_and_keep_their_order() -> None:
    count = 20_000
    buckets = [None if n % 7 == 0 else n % 5 for n in range(count)]
    lines = pa.record_batch(
        {
            "bucket": pa.array(buckets, pa.int32()),
            "n": pa.array(range(count), pa.int64()),
            "input": pa.array(["x" * (n % 900) for n in range(count)]),
            "never": pa.nulls(count, pa.string()),
        }
    )

    cut = list(parcels.cut([lines.slice(0, 9_000), lines.slice(9_000)], "bucket"))

    found: dict[int | None, list[int]] = {}
    for bucket, table in cut:
        assert table.nbytes <= parcels.PARCEL_BYTES
        arrived = parcels.unpacked(parcels.packed(table))
        assert "never" not in arrived.column_names
        assert arrived["input"].to_pylist() == table["input"].to_pylist()
        found.setdefault(bucket, []).extend(arrived["n"].to_pylist())
    assert found == {
        wanted: [n for n in range(count) if buckets[n] == wanted] for wanted in (0, 1, 2, 3, 4, None)
    }


def test_a_line_longer_than_a_parcel_goes_alone() -> None:
    lines = pa.record_batch(
        {
            "bucket": pa.array([1, 1, 1], pa.int32()),
            "input": pa.array(["a", "b" * (parcels.PARCEL_BYTES + 1), "c"]),
        }
    )

    assert [len(table) for _, table in parcels.cut([lines], "bucket")] == [1, 1, 1]


def test_columns_of_a_travelling_row_are_arrays_or_one_value() -> None:
    some = rows.travelling(
        rows.MESSAGE, 2, bucket=3, n=pa.array([5, 6]), hash=pa.chunked_array([["a"], ["b"]])
    )

    assert some.select(["what", "bucket", "n", "at", "hash"]).to_pylist() == [
        {"what": "message", "bucket": 3, "n": 5, "at": None, "hash": "a"},
        {"what": "message", "bucket": 3, "n": 6, "at": None, "hash": "b"},
    ]
