"""A folder of thousands of small logs costs what their lines cost, and little for each file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tracekit_analyzers.reading import database, ingest
from tracekit_analyzers.relations import statement


class Watched:
    """A connection that remembers how many threads put lines in."""

    def __init__(self, folder: Path) -> None:
        self._con = database.connect(folder, 0)
        self._con.execute("set threads = 2")
        self.threads: list[int] = []

    def execute(self, sql: str, *parameters: Any) -> Any:
        if sql == statement("lines"):
            self.threads += self.set_threads()
        return self._con.execute(sql, *parameters)

    def set_threads(self) -> list[int]:
        return [int(row[0]) for row in self._con.execute("select current_setting('threads')").fetchall()]


def write(folder: Path, sizes: Sequence[int]) -> list[str]:
    paths = []
    for place, size in enumerate(sizes):
        line = {"record": "step", "trace_id": f"{place:032x}", "step_id": "s", "output_snapshot": "x" * size}
        path = folder / f"{place:04}.jsonl"
        path.write_text(json.dumps(line) + "\n")
        paths.append(str(path))
    return paths


@pytest.mark.parametrize(
    ("sizes", "threads"), [([10] * 40, 1), ([10] * 5, 2), ([400_000] * 40, 2)], ids=["small", "few", "large"]
)
def test_many_small_files_are_put_in_by_one_thread_in_their_order(
    tmp_path: Path, sizes: list[int], threads: int
) -> None:
    con = Watched(tmp_path)
    paths = write(tmp_path, sizes)
    ingest.load(con, paths, 1 << 20)  # type: ignore[arg-type]  # all of a connection that it uses

    assert con.threads == [threads]
    assert con.set_threads() == [2]
    read = con.execute("select file from lines order by rowid").fetchall()
    assert [name for (name,) in read] == paths
