"""
The first look at a large native log: rows for the list of traces long before everything is read.

First from the beginning of each file, then from all of them, each time from the few fields that the list shows. Nothing is
judged and damage is passed over: the reading that goes on behind it tells both.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb

from tracekit_analyzers.model import InputFile
from tracekit_analyzers.reading import files, registry
from tracekit_analyzers.reading.workplace import Workplace
from tracekit_analyzers.relations import statement

WORTH_BYTES = 8 << 20
"""Inputs below this size are read so fast that a first look would only delay them."""
HEAD_BYTES = 4 << 20
"""Bytes of one file in the very first look."""
HEADS_BYTES = 16 << 20
"""Bytes of all files in the very first look."""
_LINE_LIMIT = 4 << 20
"""The engine keeps buffers of this size for each thread; what is longer waits for the reading itself."""
_MEMORY_MB = 200


class Glance:
    """Rows of the list of traces, asked like those of the whole analysis: `log.trace_rows`, with no verdicts in them."""

    def __init__(self) -> None:
        self._folder = Workplace()
        self._con = duckdb.connect(config=_config(self._folder.name))
        self._con.execute("set timezone = 'UTC'")
        self._con.execute("create schema log")
        self._con.execute(statement("macros"))
        self._closed = False
        self._files: dict[str, tuple[Path, str]] = {}
        """Path and name of the file behind each path that was looked at."""
        self._asking = threading.Lock()

    def looks(self, paths: Sequence[str]) -> Iterator[None]:
        """Look twice, the second time at all of it; nothing is given for input that is small or not ours."""
        if files.STDIN in paths:
            return
        found = [file for file in files.find(paths, Path(self._folder.name)) if _is_native(file)]
        if sum(file.path.stat().st_size for file in found) < WORTH_BYTES:
            return
        if self._look(self._heads(found)):
            yield
        self._files.update({str(file.path): (file.path, file.name) for file in found})
        if self._look({str(file.path): file.name for file in found}):
            yield

    def ask(self, sql: str, parameters: Any) -> list[tuple[Any, ...]] | None:
        """The rows of a query over `log.trace_rows`; None when this look is over."""
        with self._asking:
            return None if self._closed else self._con.execute(sql, parameters).fetchall()

    def files_of(self, trace_id: str) -> list[tuple[Path, str]]:
        """Path and name of each file that tells of a trace, as far as was seen."""
        rows = self.ask("select unnest(files) from log.trace_rows where trace_id = ?", (trace_id,)) or []
        return [self._files[path] for (path,) in sorted(rows) if path in self._files]

    def close(self) -> None:
        """Let go of the rows and the temporary files."""
        with self._asking:
            self._closed = True
            self._con.close()
        self._folder.cleanup()

    def _look(self, names: dict[str, str]) -> bool:
        """Whether the rows are now those of the files *names* (path to the name that a row shows)."""
        cursor = self._con.cursor()
        try:
            cursor.execute(statement("glance"), {"files": list(names), "line_limit": _LINE_LIMIT})
            for path, name in names.items():
                if path != name:
                    cursor.execute("update log.trace_rows set file = ? where file = ?", [name, path])
        except duckdb.Error:
            # It is only the first look: what it can't see, the reading behind it does.
            return False
        finally:
            cursor.close()
        return True

    def _heads(self, found: Sequence[InputFile]) -> dict[str, str]:
        """Copies of the first whole lines of the newest files."""
        names: dict[str, str] = {}
        left = HEADS_BYTES
        for place, file in enumerate(sorted(found, key=lambda file: -file.path.stat().st_mtime_ns)):
            if left <= 0:
                break
            with file.path.open("rb") as stream:
                head = stream.read(min(HEAD_BYTES, left))
            left -= len(head)
            copy = Path(self._folder.name) / f"{place}.jsonl"
            copy.write_bytes(head[: head.rfind(b"\n") + 1])
            names[str(copy)] = file.name
            self._files[str(copy)] = (file.path, file.name)
        return names


def _config(folder: str) -> dict[str, str | bool | int | float | list[str]]:
    return {
        "autoload_known_extensions": "false",
        "autoinstall_known_extensions": "false",
        "memory_limit": f"{_MEMORY_MB}MB",
        "temp_directory": folder,
        "preserve_insertion_order": "false",
    }


def _is_native(file: InputFile) -> bool:
    chosen = registry.choose(file) if file.head else None
    return chosen is not None and chosen.name == registry.NATIVE and not files.packed(file.path)
