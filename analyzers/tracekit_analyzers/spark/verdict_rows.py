"""
Verdicts on their way to the driver, as the JSON of their own dataclasses: one row each, and behind it, for a judge, one for
each step of a run that the rules leave open.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC
from itertools import chain, groupby
from operator import itemgetter
from typing import Any

import orjson
import pyarrow as pa
from pydantic import TypeAdapter

from tracekit_analyzers.model import TraceVerdict
from tracekit_analyzers.verdicts.judging import JudgedStep

DDL = "n bigint, place bigint, text string"
"""One row: where the first line of the trace stands in the log; 0 for the verdict, 1 and on for its steps; its JSON."""

FORM = pa.schema([("n", pa.int64()), ("place", pa.int64()), ("text", pa.string())])

_BATCH_ROWS = 2_000
_BATCH_BYTES = 16 << 20
_VERDICT = TypeAdapter(TraceVerdict)
_STEP = TypeAdapter(JudgedStep)

Run = tuple[TraceVerdict, Iterable[JudgedStep]]


def packed(runs: Iterable[tuple[int, Run]]) -> Iterator[Any]:
    """*runs*, each with the place of its first line, as Arrow batches of `FORM`."""
    batch: list[tuple[int, int, bytes]] = []
    size = 0
    for n, (verdict, steps) in runs:
        for place, value in enumerate(chain((verdict,), steps)):
            text = orjson.dumps(value)
            batch.append((n, place, text))
            size += len(text)
            if len(batch) >= _BATCH_ROWS or size >= _BATCH_BYTES:
                yield _batch(batch)
                batch, size = [], 0
    yield _batch(batch)


def _batch(rows: list[tuple[int, int, bytes]]) -> Any:
    columns = list(zip(*rows, strict=True)) or [()] * len(FORM)
    texts = pa.array(columns[2], pa.binary()).cast(pa.string())
    return pa.RecordBatch.from_arrays(
        [pa.array(columns[0], pa.int64()), pa.array(columns[1], pa.int64()), texts], schema=FORM
    )


def unpacked(rows: Iterable[tuple[int, int, str]]) -> Iterator[Run]:
    """The runs of *rows* that come ordered by `n` and `place`; only one of them is held at a time."""
    for _, run in groupby(rows, key=itemgetter(0)):
        first, *steps = (text for _, _, text in run)
        yield _verdict(first), tuple(_STEP.validate_json(text) for text in steps)


def _verdict(text: str) -> TraceVerdict:
    verdict = _VERDICT.validate_json(text)
    began = verdict.started_at
    return verdict if began is None else replace(verdict, started_at=began.astimezone(UTC))
