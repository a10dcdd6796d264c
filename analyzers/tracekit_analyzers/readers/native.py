"""The native log, and step records of the same shape that other programs write (docs/log-format.md)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from tracekit_analyzers.model import DamageReport, InputFile, NativeRecord
from tracekit_analyzers.readers._bounds import bounded_lines
from tracekit_analyzers.readers._source import open_bytes
from tracekit_analyzers.reading.damage import examine, numbered

RECORDS = frozenset(("process", "step", "message", "drops"))
_BEGINS = re.compile(rb'\{\s*"record"\s*:\s*"(process|step|message|drops)"')


class NativeReader:
    """Reads `tracekit.log/1`. The query engine reads clean files itself; this is the way for damaged ones."""

    name = "native"
    title = "tracekit log"

    def sniff(self, file: InputFile) -> int:
        """95 for a line with our `record`, 60 for a bare step record."""
        for line in file.head.lstrip(b"\xef\xbb\xbf").split(b"\n")[:20]:
            for piece in examine(line) if line.lstrip()[:1] == b"{" else ():
                sure = _looks_native(piece.record)
                if sure:
                    return sure
        # One long first line can reach beyond the head.
        return 90 if _BEGINS.match(file.head[:300].lstrip(b"\xef\xbb\xbf \0\r\n")) else 0

    def read(self, file: InputFile, damage: DamageReport) -> Iterator[NativeRecord]:
        """Records of the file, with `source.line`; damage is told line by line."""
        for record in repaired(file, damage):
            value: Any = orjson.loads(record[2])
            value["source"] = {"line": record[0], **(value.get("source") or {})}
            yield value


def _looks_native(record: bytes | None) -> int:
    if record is None:
        return 0
    try:
        value = orjson.loads(record)
    except orjson.JSONDecodeError:
        return 0
    if value.get("record") in RECORDS:
        return 95
    return 60 if isinstance(value.get("trace_id"), str) and isinstance(value.get("step_id"), str) else 0


def repaired(file: InputFile, damage: DamageReport) -> Iterator[tuple[int, int, bytes]]:
    """Line number, byte offset and bytes of each record that can be kept; the rest goes to *damage*."""
    with open_bytes(file) as stream:
        yield from repaired_lines(bounded_lines(stream), file, damage)


def repaired_lines(
    lines: Iterable[bytes], file: InputFile, damage: DamageReport
) -> Iterator[tuple[int, int, bytes]]:
    """The same of *lines* that stand in *file*, or in the piece of it that *file* tells of."""
    for number, offset, line in numbered(iter(lines)):
        damage.counted(1)
        if number == 1 and line.startswith(b"\xef\xbb\xbf"):
            line = line[3:]
        number, offset = number + file.first_line, offset + file.first_byte
        for piece in examine(line):
            if piece.reason is not None:
                damage.bad(
                    file=file.name,
                    line=number,
                    offset=offset + piece.at,
                    reason=piece.reason,
                    data=piece.head_of(line),
                )
            if piece.record is not None:
                yield number, offset + piece.at, piece.record


READER = NativeReader()
