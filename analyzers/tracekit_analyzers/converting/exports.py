"""Writes a log in another format: native lines, OTLP lines, or a Parquet file of all steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from tracekit.model import LOG_SCHEMA
from tracekit_analyzers.converting import otlp_lines
from tracekit_analyzers.engine import Engine
from tracekit_analyzers.model import NativeRecord
from tracekit_analyzers.reading import files, registry
from tracekit_analyzers.reading.damage import Damage
from tracekit_analyzers.reading.ingest import dumped, nothing_read
from tracekit_analyzers.reading.workplace import Workplace


@dataclass(frozen=True, slots=True)
class Job:
    """What to convert."""

    paths: Sequence[str]
    target: Path
    reader: str | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was written."""

    written: int
    unit: str
    bad: int


def native(job: Job) -> Outcome:
    """Native lines, streamed: what the readers yield, under a `process` line that names the schema."""
    damage = Damage()
    written = 0
    with Workplace() as folder, job.target.open("wb", buffering=1 << 20) as out:
        out.write(orjson.dumps({"record": "process", "schema": LOG_SCHEMA, "event": "start"}) + b"\n")
        for record in _records(job, Path(folder), damage):
            out.write(dumped(record) + b"\n")
            written += 1
    return Outcome(written, "records", damage.bad_count)


def _records(job: Job, folder: Path, damage: Damage) -> Iterator[NativeRecord]:
    found = files.find(job.paths, folder)
    skipped = []
    for file in found:
        reader = registry.choose(file, job.reader)
        if reader is None:
            skipped.append(file.name)
            continue
        for record in reader.read(file, damage):
            # Several runs of one log keep the place where a person finds them in the original.
            record["source"] = {
                key: value for key, value in (record.get("source") or {}).items() if value is not None
            }
            yield record
    if found and len(skipped) == len(found):
        raise nothing_read(found, skipped)


def otlp(job: Job) -> Outcome:
    """OTLP/JSON lines, one `TracesData` for each trace."""
    written = 0
    with Engine(job.paths, reader=job.reader, diagnose=False) as engine, job.target.open("wb") as out:
        engine.load()
        for line in otlp_lines.traces(engine.con):
            out.write(orjson.dumps(line) + b"\n")
            written += 1
        return Outcome(written, "traces", engine.damage.bad_count)


def parquet(job: Job) -> Outcome:
    """All steps as one Parquet file."""
    with Engine(job.paths, reader=job.reader, diagnose=False) as engine:
        engine.load()
        target = str(job.target).replace("'", "''")
        engine.con.execute(
            "copy (select * exclude (bucket, first_n, last_n) replace (started_at at time zone 'UTC' as started_at, "
            "finished_at at time zone 'UTC' as finished_at) from log.steps order by trace_id, seq) "
            f"to '{target}' (format parquet, compression zstd)"
        )
        row = engine.con.execute("select count(*) from log.steps").fetchone()
        return Outcome(int(row[0]) if row else 0, "steps", engine.damage.bad_count)
