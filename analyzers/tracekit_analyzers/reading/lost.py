"""Lines that a recorder could not write: told as damage, and a doubt about what rests on messages that are not there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import duckdb

from tracekit_analyzers.model import Diagnosis, Evidence, InputFile
from tracekit_analyzers.readers._bounds import bounded_lines
from tracekit_analyzers.readers._source import open_bytes
from tracekit_analyzers.reading.damage import Damage, numbered
from tracekit_analyzers.relations import statement

IN_DOUBT = frozenset(("context.missing_result", "context.truncated"))
"""Classes that rest on a message that is missing: it may be missing from the log alone."""


def tell(con: duckdb.DuckDBPyConnection, damage: Damage, files: Sequence[InputFile]) -> None:
    """Name in *damage* each `drops` line that `lines` holds, and keep in `log.lost` how many lines each file lacks."""
    rows = con.execute(statement("lost_lines")).fetchall()
    known = {file.name: file for file in files}
    wanted: dict[str, set[int]] = {}
    for file, line, _, _ in rows:
        if line is not None and file in known:
            wanted.setdefault(file, set()).add(line)
    places = {name: _places(known[name], lines) for name, lines in wanted.items()}
    for file, line, lost, reason in rows:
        con.execute("insert into log.lost values (?, ?)", [file, lost])
        offset, data = places.get(file, {}).get(line, (None, b""))
        damage.lost_lines(
            file=file, line=line, offset=offset, lost=lost, reason=_reason(lost, reason), data=data
        )


def _reason(lost: int, reason: str | None) -> str:
    count = "1 line" if lost == 1 else f"{lost} lines" if lost else "an unknown number of lines"
    return f"lost: {count} could not be written" + (f": {reason}" if reason else "")


def _places(file: InputFile, lines: set[int]) -> dict[int, tuple[int, bytes]]:
    """Offset and bytes of the *lines* (1-based, of the whole file) of *file*, where they are `drops` lines of its own."""
    found: dict[int, tuple[int, bytes]] = {}
    last = max(lines)
    with open_bytes(file) as stream:
        for number, offset, line in numbered(bounded_lines(stream)):
            # In a converted log the number is that of the original, where another line stands here.
            if number + file.first_line in lines and b'"drops"' in line:
                found[number + file.first_line] = (offset + file.first_byte, line)
            if number + file.first_line >= last:
                break
    return found


def traces(con: duckdb.DuckDBPyConnection, wanted: Iterable[str]) -> dict[str, int]:
    """How many lines the logs of a trace lack, for those of *wanted* that lack any; 0 where the log does not say."""
    some = con.execute("select 1 from log.lost limit 1").fetchone()
    ids = sorted(wanted) if some else []
    return dict(con.execute(statement("lost_traces"), {"traces": ids}).fetchall()) if ids else {}


def less_sure(found: Diagnosis, lost: int) -> Diagnosis:
    """*found* with half its confidence, and with why, when it rests on a message that may be missing from the log alone."""
    if found.code not in IN_DOUBT:
        return found
    doubt = Evidence(
        step=None,
        seq=None,
        what="less sure: lines of this log could not be written, so the message may be missing from the log alone",
        value=str(lost) if lost else None,
    )
    return replace(found, confidence=round(found.confidence / 2, 3), evidence=(*found.evidence, doubt))
