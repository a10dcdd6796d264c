"""One trace by its own lines, to be looked at while the whole log is still being read: its steps, and no verdict."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tracekit_analyzers.growing import part
from tracekit_analyzers.growing.part import Told
from tracekit_analyzers.reading import database, fold, reread
from tracekit_analyzers.reading.damage import Damage
from tracekit_analyzers.reading.workplace import Workplace
from tracekit_analyzers.relations import statement
from tracekit_analyzers.relations.relate import Relations, store_verdicts

MEMORY_MB = 150
MOST_BYTES = 64 << 20
"""A trace with more than this waits for the reading itself."""


class Preview:
    """
    Asked like the whole analysis, of one trace only.

    Args:
        trace_id: Its whole id.
        files: Where its lines stand: path and name for reports.
    """

    def __init__(self, trace_id: str, files: Sequence[tuple[Path, str]]) -> None:
        self._folder = Workplace()
        self._con = database.connect(Path(self._folder.name), 0, memory_mb=MEMORY_MB)
        self._asking = threading.Lock()
        self._closed = False
        self.found = self._read(trace_id, files)
        """Whether there is anything to show."""

    def ask(self, sql: str, parameters: Any = ()) -> list[tuple[Any, ...]]:
        """The rows of a query over the relations; none when this look is over."""
        with self._asking:
            return [] if self._closed else self._con.execute(sql, parameters).fetchall()

    def close(self) -> None:
        """Let go of the rows and the temporary files."""
        with self._asking:
            self._closed = True
            self._con.close()
        self._folder.cleanup()

    def _read(self, trace_id: str, files: Sequence[tuple[Path, str]]) -> bool:
        told: list[Told] = []
        size = 0
        for path, name in files:
            for one in part.records(name, _lines(path, trace_id), Damage()):
                size += len(one.record)
                if size > MOST_BYTES:
                    return False
                if one.kind == "process" or one.value.get("trace_id") == trace_id:
                    told.append(one)
        if not any(one.kind == "step" for one in told):
            return False
        folder = Path(self._folder.name)
        part.fill(self._con, told, Damage(), folder)
        fold.processes(self._con)
        buckets = fold.steps_and_traces(self._con)
        Relations(self._con, folder, buckets).make_for_looking()
        store_verdicts(self._con, folder, ())
        self._con.execute(statement("trace_rows"))
        return True


def _lines(path: Path, trace_id: str) -> Iterator[reread.Numbered]:
    """The line of the process and those of the trace; an id that JSON would escape is not found."""
    with path.open("rb") as stream:
        first = stream.readline(1 << 20)
    yield 1, 0, first
    for number, offset, line in reread.holding(path, trace_id.encode()):
        if number > 1:
            yield number, offset, line
