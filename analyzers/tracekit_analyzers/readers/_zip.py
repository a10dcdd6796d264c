"""JSON documents in a zip archive, with limits that an archive made to burst cannot pass."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any
from zipfile import BadZipFile, ZipFile, ZipInfo

from tracekit_analyzers.model import DamageReport, InputFile
from tracekit_analyzers.readers._bounds import LONGEST_VALUE, MOST_TIMES, loads

_MAX_ENTRY_BYTES = LONGEST_VALUE
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
                reason = f"not_json {entry.filename}: {error}"
                damage.bad(
                    file=file.name, line=None, offset=entry.header_offset, reason=reason, data=entry.filename
                )


def _refused(entry: ZipInfo, total_bytes: int) -> str | None:
    if entry.file_size > _MAX_ENTRY_BYTES or total_bytes > _MAX_TOTAL_BYTES:
        return f"too_large {entry.filename}: {entry.file_size} bytes unpacked"
    if entry.file_size > _SMALL_BYTES and entry.file_size > MOST_TIMES * max(entry.compress_size, 1):
        return f"too_large {entry.filename}: unpacks to more than {MOST_TIMES} times its size"
    return None


def _bytes(archive: ZipFile, entry: ZipInfo) -> bytes:
    """The entry's bytes; an entry that is longer than its header says is refused, whatever the header says."""
    with archive.open(entry) as stream:
        data = stream.read(min(entry.file_size, _MAX_ENTRY_BYTES) + 1)
    if len(data) > entry.file_size:
        raise ValueError("longer than its header says")
    return data
