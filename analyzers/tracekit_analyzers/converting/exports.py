"""Writes a log in another format: native lines, OTLP lines, or a Parquet file of all steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from tracekit.model import LOG_SCHEMA
from tracekit_analyzers.converting import otlp_lines
from tracekit_analyzers.engine import Engine
from tracekit_analyzers.model import InputFile, NativeRecord
from tracekit_analyzers.reading import files, registry
from tracekit_analyzers.reading.damage import Damage
from tracekit_analyzers.reading.ingest import dumped, nothing_read
from tracekit_analyzers.reading.workplace import Workplace
from tracekit_analyzers.relations import statement


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
    left_out: str = ""
    """What the log had and the format has no place for, in words."""


def native(job: Job) -> Outcome:
    """Native lines, streamed: what the readers yield, under a `process` line that names the schema."""
    damage = Damage()
    written = 0
    with Workplace() as folder, job.target.open("wb", buffering=1 << 20) as out:
        out.write(orjson.dumps({"record": "process", "schema": LOG_SCHEMA, "event": "start"}) + b"\n")
        for file, record in _records(job, Path(folder), damage):
            out.write(dumped(record, file, damage) + b"\n")
            written += 1
    return Outcome(written, "records", damage.bad_count)


def _records(job: Job, folder: Path, damage: Damage) -> Iterator[tuple[InputFile, NativeRecord]]:
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
            yield file, record
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
        engine.con.execute(f"create temp table killed as {statement('killed_steps')}")
        engine.con.execute(
            statement("steps_as_parquet").replace("{target}", str(job.target).replace("'", "''"))
        )
        steps, messages = engine.con.execute(
            "select (select count(*) from log.steps), (select count(*) from log.message_lines)"
        ).fetchall()[0]
        left_out = (
            f"{messages:,} messages are not in it, so that verdicts which rest on them are not found there; --format native "
            "keeps them"
        )
        return Outcome(steps, "steps", engine.damage.bad_count, left_out if messages else "")
