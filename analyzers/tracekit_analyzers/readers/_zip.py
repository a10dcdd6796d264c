"""JSON documents in a zip archive, with limits that an archive made to burst cannot pass."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any
from zipfile import BadZipFile, ZipFile, ZipInfo

from tracekit_analyzers.model import DamageReport, InputFile
from tracekit_analyzers.readers import _bounds
from tracekit_analyzers.readers._bounds import loads

_MAX_TOTAL_BYTES = 8 << 30
_SMALL_BYTES = 16 << 20
"""Entries up to this size may have any ratio."""


def json_entries(
    file: InputFile, damage: DamageReport, wanted: Callable[[str], bool]
) -> Iterator[tuple[str, Any]]:
    """Name and value of each entry that is *wanted*, in the archive's order; what cannot be read is told."""
    try:
        archive = ZipFile(file.path)
    except (BadZipFile, OSError, ValueError) as error:
        damage.bad(file=file.name, line=None, offset=0, reason=f"not_zip: {error}", data=file.head[:80])
        return
    total = 0
    with archive:
        for entry in archive.infolist():
            if not wanted(entry.filename) or not entry.filename.endswith(".json"):
                continue
            total += entry.file_size
            refused = _refused(entry, total)
            if refused:
                damage.bad(
                    file=file.name, line=None, offset=entry.header_offset, reason=refused, data=entry.filename
                )
                continue
            damage.counted(1)
            try:
                yield entry.filename, loads(_bytes(archive, entry), json.loads)
            except (ValueError, RecursionError, BadZipFile, NotImplementedError, OSError, EOFError) as error:
                reason = _bounds.reason(f"not_json {entry.filename}", error)
                damage.bad(
                    file=file.name, line=None, offset=entry.header_offset, reason=reason, data=entry.filename
                )


def _refused(entry: ZipInfo, total_bytes: int) -> str | None:
    size, most = entry.file_size, _bounds.longest_value()
    if size > most:
        said = f"{size:,} bytes unpacked, of {most:,} that are taken"
    elif total_bytes > _MAX_TOTAL_BYTES * _bounds.times():
        said = f"with it {total_bytes:,} bytes unpacked, of {_MAX_TOTAL_BYTES * _bounds.times():,} that are taken"
    elif size > _SMALL_BYTES and size > _bounds.most_times() * max(entry.compress_size, 1):
        said = f"{entry.compress_size:,} bytes that unpack to {size:,}, of {_bounds.most_times()} times as many that are taken"
    else:
        return None
    return f"too_large {entry.filename}: {said}; {_bounds.how_to_raise()}"


def _bytes(archive: ZipFile, entry: ZipInfo) -> bytes:
    """The entry's bytes; an entry that is longer than its header says is refused, whatever the header says."""
    with archive.open(entry) as stream:
        data = stream.read(min(entry.file_size, _bounds.longest_value()) + 1)
    if len(data) > entry.file_size:
        raise ValueError("longer than its header says")
    return data
