"""
The one way in: every line of every file becomes a row of `lines`.

Clean native files are read by the query engine itself. Damaged or packed ones go line by line through Python, other
formats through their reader; both write clean native lines into a spool that the engine then reads the same way.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import BinaryIO

import duckdb
import orjson

from tracekit.errors import TracekitError
from tracekit_analyzers.model import DamageReport, InputFile, NativeRecord, Reader
from tracekit_analyzers.readers._source import open_bytes
from tracekit_analyzers.reading import lost, registry
from tracekit_analyzers.reading.damage import Damage, strict, with_source
from tracekit_analyzers.reading.files import packed
from tracekit_analyzers.reading.piecewise import FEW_BYTES, Block, Piecewise
from tracekit_analyzers.reading.scanning import line_count
from tracekit_analyzers.relations import frugal, statement
from tracekit_analyzers.views import Progress

_SPOOL_BYTES = 64 << 20
_USUAL_LINE = 8 << 20
"""The engine keeps buffers of twice the longest line for each thread, so it is told of longer ones only where there are any."""
_SHORT_LINE = 1 << 20
"""The same for a block: with small buffers several threads find work in it."""
_LINE_LIMIT = 64 << 20
_MOST_LOOKED_AT = 64 << 20
"""Bytes of a file in no known format that are looked at to say where it broke."""
_LONGEST_LINE = 1 << 30
_MANY_FILES = 32
_SMALL_FILE_BYTES = 256 << 10
"""Of files that are smaller on average, many are read faster by one thread than by several."""
_GROUPS = 16
"""Into so many parts files are put of which the engine refuses one."""

Tell = Callable[[Progress], None]


class Ingest:
    """Fills `lines` and `log.files` of one connection."""

    def __init__(
        self, con: duckdb.DuckDBPyConnection, damage: Damage, spool: Path, *, reader: str | None, tell: Tell
    ) -> None:
        self._con, self._damage, self._forced, self._tell = con, damage, reader, tell
        self._folder = spool
        self._spool = _Spool(con, spool / "spool.jsonl")
        self._total = self._done = 0
        self.skipped: list[str] = []
        """Files that no reader knows."""

    def add(self, files: Sequence[InputFile]) -> None:
        """Read *files* in their order."""
        self._total += sum(file.path.stat().st_size for file in files)
        clean: list[InputFile] = []
        for file in files:
            reader = registry.choose(file, self._forced)
            if reader is not None and reader.name == registry.NATIVE and not packed(file.path):
                clean.append(file)
                continue
            self._add_clean(clean)
            clean = []
            if reader is None:
                self.skipped.append(file.name)
                with _broken_archives(file, self._damage):
                    _tell_broken(file, self._damage)
            elif reader.name == registry.NATIVE:
                self._repair(file)
            else:
                self._translate(file, reader)
            self._read(file)
        self._add_clean(clean)
        self._spool.flush()
        lost.tell(self._con, self._damage, files)

    def _read(self, file: InputFile) -> None:
        self._done += file.path.stat().st_size
        self._tell(Progress(file.name, self._done, self._total, "reading"))

    def _add_clean(self, files: list[InputFile]) -> None:
        """Native files, by the engine; each one that it refuses, or whose lines it counts otherwise, by Python."""
        if not files:
            return
        if sum(file.path.stat().st_size for file in files) <= FEW_BYTES and not self._spool.is_empty:
            # Between files that go through Python anyway.
            for file in files:
                self._repair(file)
        else:
            self._spool.flush()
            self._add_group(files)
        for file in files:
            self._read(file)

    def _add_group(self, files: list[InputFile]) -> None:
        """The same of files of which the engine may refuse some: these are found in few tries, however many there are."""
        if self._by_engine(files):
            return
        if len(files) == 1:
            self._repair(files[0])
            return
        count = -(-len(files) // _GROUPS)
        for start in range(0, len(files), count):
            self._add_group(files[start : start + count])

    def _by_engine(self, files: list[InputFile]) -> bool:
        """Whether the engine read all *files*; if not, nothing of them was kept."""
        base = _next_row(self._con)
        names = {str(file.path): file.name for file in files if file.path.stat().st_size}
        if not names:
            return True
        if not self._loaded(list(names)):
            return False
        counts = dict(
            self._con.execute(
                "select file, count(*) from lines where rowid >= ? group by file", [base]
            ).fetchall()
        )
        expected = {path: line_count(Path(path)) for path in names}
        if any(found is None or counts.get(path) != found for path, found in expected.items()):
            self._con.execute("delete from lines where rowid >= ?", [base])
            return False
        self._con.execute(
            "insert into log.files select file, min(rowid) from lines where rowid >= ? group by file", [base]
        )
        for file in files:
            if file.first_line:
                self._con.execute(
                    "update log.files set first_n = first_n - ? where file = ?",
                    [file.first_line, str(file.path)],
                )
        self._rename({path: name for path, name in names.items() if path != name}, base)
        self._damage.counted(sum(counts.values()))
        return True

    def _rename(self, names: dict[str, str], base: int) -> None:
        """Call the files of rows from *base* on, which are known by their paths, by the names that reports show."""
        if not names:
            return
        told = "(select unnest(?::varchar[]) as path, unnest(?::varchar[]) as name) as told where file = path"
        both = [list(names), list(names.values())]
        self._con.execute(
            f"update lines set file = told.name from {told} and lines.rowid >= ?", [*both, base]
        )
        self._con.execute(f"update log.files set file = told.name from {told}", both)

    def _loaded(self, paths: list[str]) -> bool:
        for limit in (_USUAL_LINE, _LINE_LIMIT):
            try:
                load(self._con, paths, limit)
            except duckdb.Error as error:
                if "maximum_object_size" not in str(error):
                    return False
            else:
                return True
        return False

    def _repair(self, file: InputFile) -> None:
        def take(block: Block) -> bool:
            self._spool.flush()
            return self._took(block, file.name)

        def keep(line: int, record: bytes) -> None:
            self._spool.write(with_source(record, {"file": file.name, "line": line}))

        with _broken_archives(file, self._damage):
            Piecewise(file, self._folder, self._damage, take, keep).read()

    def _took(self, block: Block, name: str) -> bool:
        """Whether the engine read all of *block*; if not, nothing of it was kept."""
        base = _next_row(self._con)
        try:
            load(self._con, [str(block.path)], line_limit(block.longest, usual=_SHORT_LINE))
        except duckdb.Error:
            return False
        first, last, count, sources = self._con.execute(
            "select min(rowid), max(rowid), count(*), count(source) from lines where rowid >= ?", [base]
        ).fetchall()[0]
        # A record that names its own source keeps it, and what of it is missing is added by Python.
        if count != block.lines or last - first + 1 != count or sources:
            self._con.execute("delete from lines where rowid >= ?", [base])
            return False
        self._con.execute(
            statement("number_block"), {"name": name, "first_n": first, "first_line": block.first_line}
        )
        return True

    def _translate(self, file: InputFile, reader: Reader) -> None:
        with _broken_archives(file, self._damage):
            for record in reader.read(file, self._damage):
                record["source"] = {**(record.get("source") or {}), "file": file.name}
                self._spool.write(dumped(record, file, self._damage))


class _Spool:
    """Lines on their way into the engine, at most 64 MiB of them on disk at a time."""

    def __init__(self, con: duckdb.DuckDBPyConnection, path: Path) -> None:
        self._con, self._path = con, path
        self._stream: BinaryIO | None = None
        self._bytes = self._longest = 0

    @property
    def is_empty(self) -> bool:
        return self._stream is None

    def write(self, line: bytes) -> None:
        if self._stream is None:
            self._stream = self._path.open("wb", buffering=1 << 20)
        self._stream.write(line)
        self._stream.write(b"\n")
        self._bytes += len(line)
        self._longest = max(self._longest, len(line))
        if self._bytes >= _SPOOL_BYTES:
            self.flush()

    def flush(self) -> None:
        """Hand over what was written; the order of lines is kept."""
        if self._stream is None:
            return
        self._stream.close()
        load(self._con, [str(self._path)], line_limit(self._longest))
        self._path.unlink()
        self._stream, self._bytes, self._longest = None, 0, 0


class _broken_archives:
    """Context in which the end of a cut archive or file is damage and not an error."""

    def __init__(self, file: InputFile, damage: Damage) -> None:
        self._file, self._damage = file, damage

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> bool:
        if isinstance(error, OSError):
            said = str(error)
            reason = said if said.startswith("too_large") else f"cut: {said}"
            self._damage.bad(file=self._file.name, line=None, offset=None, reason=reason, data=b"")
            return True
        return False


def line_limit(longest: int = 0, *, usual: int = _USUAL_LINE) -> int:
    """What to tell the engine of the longest line, of which it keeps room for a few."""
    return min(max(usual, longest + 1024), _LONGEST_LINE)


def load(con: duckdb.DuckDBPyConnection, paths: list[str], line_limit: int) -> None:
    """Add the lines of *paths* to `lines`, all or none; raises `duckdb.Error` for a line that is no strict JSON object."""
    params = {"files": paths, "line_limit": line_limit}
    try:
        # With several threads each file is put in by itself, which takes 0.4 MB and 1.5 ms beside its lines.
        with frugal.one_thread(con) if _are_many_and_small(paths) else nullcontext():
            con.execute(statement("lines"), params)
    except duckdb.OutOfMemoryException:
        # Each thread has buffers of its own for lines of that length.
        with frugal.one_thread(con):
            con.execute(statement("lines"), params)


def _are_many_and_small(paths: list[str]) -> bool:
    if len(paths) < _MANY_FILES:
        return False
    return sum(Path(path).stat().st_size for path in paths) < _SMALL_FILE_BYTES * len(paths)


def _next_row(con: duckdb.DuckDBPyConnection) -> int:
    row = con.execute("select coalesce(max(rowid) + 1, 0) from lines").fetchone()
    return int(row[0]) if row else 0


def dumped(record: NativeRecord, file: InputFile, damage: DamageReport) -> bytes:
    """*record* as one JSON line; what JSON does not have is made visible, what is nested too deep is told."""
    try:
        return orjson.dumps(record, option=orjson.OPT_NON_STR_KEYS)
    except (TypeError, ValueError):
        notes: list[str] = []
        line = json.dumps(strict(record, notes), ensure_ascii=False, default=str).encode()
    reason = next((note for note in notes if note.startswith("too_deep")), None)
    if reason is not None:
        number = record["source"].get("line")
        damage.bad(file=file.name, line=number, offset=None, reason=reason, data=line)
    return line


def _tell_broken(file: InputFile, damage: Damage) -> None:
    """
    A file that calls itself JSON, is in no known format, and is no JSON either: its format broke before it could be known.

    Raises what an archive raises that breaks so early.
    """
    if not file.head and packed(file.path):
        with open_bytes(file) as stream:
            stream.read(1)
    if not file.name.lower().endswith(".json") or file.path.stat().st_size > _MOST_LOOKED_AT:
        return
    data = file.path.read_bytes()
    try:
        orjson.loads(data)
    except orjson.JSONDecodeError as error:
        # The position counts characters.
        before = data.decode("utf-8", "replace")[: error.pos].encode("utf-8", "replace")
        damage.bad(
            file=file.name,
            line=error.lineno,
            offset=len(before),
            reason=f"not_json: {error}",
            data=data[len(before) :] or data,
        )


def nothing_read(files: Sequence[InputFile], skipped: Sequence[str]) -> TracekitError:
    """The error for a run in which no file could be read."""
    names = ", ".join(sorted(skipped)[:5]) or "no file at all"
    return TracekitError(
        "input.no_reader",
        f"none of the {len(files)} files is in a format that tracekit knows ({names}); name one with --reader",
    )
