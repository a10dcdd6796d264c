"""From what a user names (files, folders, patterns, `-`) to the files to read."""

from __future__ import annotations

import glob
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

from tracekit.errors import TracekitError
from tracekit_analyzers.model import InputFile
from tracekit_analyzers.readers._packed import beginning, is_packed
from tracekit_analyzers.reading import parquet

HEAD_BYTES = 64 * 1024
_PACKED_HEAD_BYTES = 1 << 20
STDIN = "-"
_NEVER = (".db-wal", ".db-shm", ".tmp", ".md", ".lock", ".tracekit-index")
_FOLDERS_OF_A_HOME = frozenset(("blobs", "recoveries"))


def find(paths: Sequence[str | Path], spool: Path) -> list[InputFile]:
    """
    The files behind *paths*, in a stable order, each once.

    Args:
        paths: Files, folders (searched to the bottom; of a tracekit home only `traces/`), glob patterns, `-` for stdin.
        spool: Folder for a copy of what comes from stdin, and for the rows of Parquet files as lines.

    Raises:
        TracekitError: `input.missing`: a path that does not exist; `input.unreadable`: it can't be opened.
    """
    found: dict[Path, str] = {}
    for given in paths:
        for path, name in _behind(str(given), spool):
            found.setdefault(path, name)
    plain = ((_plain(path, spool), name) for path, name in found.items())
    return [_opened(parquet.unpacked(path, spool), shown(name)) for path, name in plain]


def _behind(given: str, spool: Path) -> Iterator[tuple[Path, str]]:
    if given == STDIN:
        copy = spool / "stdin"
        with copy.open("wb") as target:
            shutil.copyfileobj(sys.stdin.buffer, target)
        yield copy, STDIN
        return
    yield from _named(given)


def _named(given: str) -> Iterator[tuple[Path, str]]:
    path = Path(given)
    if path.is_dir():
        yield from ((file, str(file)) for file in inside(path))
    elif path.exists():
        yield path, given
    else:
        matches = (
            [Path(match) for match in sorted(glob.glob(given, recursive=True))]
            if glob.has_magic(given)
            else []
        )
        if not matches:
            raise TracekitError(
                "input.missing", f"expected a log file, a folder or a pattern, found nothing at {given!r}"
            )
        for match in matches:
            files = inside(match) if match.is_dir() else [match] if match.is_file() else []
            yield from ((file, str(file)) for file in files)


def named(paths: Iterable[str]) -> Iterator[tuple[Path, str]]:
    """Each file behind *paths* with its name for reports, none of them opened; what is not there gives none."""
    for given in paths:
        try:
            yield from _named(given)
        except TracekitError:
            # Whoever reads it says so.
            continue


def inside(folder: Path) -> list[Path]:
    """Files of a folder that may be logs; of a tracekit home only its traces."""
    top = folder / "traces" if (folder / "traces").is_dir() else folder
    return sorted(path for path in top.rglob("*") if path.is_file() and may_be_log(path.relative_to(top)))


def may_be_log(relative: Path) -> bool:
    """Whether a file at *relative* in a folder is read when the folder is named: not hidden, no blob, no side file."""
    hidden = any(part.startswith(".") or part in _FOLDERS_OF_A_HOME for part in relative.parts)
    return not hidden and not relative.name.endswith(_NEVER)


def shown(name: str) -> str:
    """*name* as text that can be written: bytes of a file name that are no UTF-8 are made visible."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _plain(path: Path, spool: Path) -> Path:
    """*path*, or a stand-in under *spool* for a pipe, and for a name that the query engine would not take as it is."""
    name = str(path)
    if path.is_fifo():
        copy = spool / f"pipe-{sha256(name.encode('utf-8', 'surrogateescape')).hexdigest()[:16]}"
        with path.open("rb") as stream, copy.open("wb") as target:
            shutil.copyfileobj(stream, target)
        return copy
    if not path.is_file():
        raise TracekitError(
            "input.unreadable", f"expected a file, found a device or a socket at {shown(name)!r}"
        )
    if not glob.has_magic(name) and shown(name) == name:
        return path
    link = (
        spool
        / f"named-{sha256(name.encode('utf-8', 'surrogateescape')).hexdigest()[:16]}{shown(path.suffix)}"
    )
    if not link.is_symlink():
        link.symlink_to(path.absolute())
    return link


def _opened(path: Path, name: str) -> InputFile:
    try:
        path.open("rb").close()
    except OSError as error:
        raise _unreadable(name, error) from error
    return _Waiting(path, name, b"")


def _unreadable(name: str, error: OSError) -> TracekitError:
    return TracekitError("input.unreadable", f"expected to read {name}, but: {error.strerror or error}")


class _Waiting(InputFile):
    """A file whose first bytes are read when they are asked for: those of 100,000 files would fill the memory."""

    __slots__ = ()

    @property
    def head(self) -> bytes:
        """First 64 KiB, after unpacking."""
        try:
            stat = self.path.stat()
            return _head_as_of(self.path, stat.st_size, stat.st_mtime_ns)
        except OSError as error:
            raise _unreadable(self.name, error) from error

    @head.setter
    def head(self, _: bytes) -> None:
        """Nothing is kept."""


@lru_cache(maxsize=32)
def _head_as_of(path: Path, _size: int, _changed_ns: int) -> bytes:
    return head(path)


def packed(path: Path) -> bool:
    """Whether the file is gzip or zstandard by its first bytes."""
    with path.open("rb") as stream:
        return is_packed(stream.read(4))


def head(path: Path) -> bytes:
    """First 64 KiB of the file, unpacked; what a broken archive still gives."""
    with path.open("rb") as stream:
        return unpacked_head(stream)


def unpacked_head(stream: BinaryIO) -> bytes:
    """First 64 KiB of *stream*, which stands at its beginning and can go back there, unpacked."""
    magic = stream.read(4)
    stream.seek(0)
    if is_packed(magic):
        return beginning(stream, HEAD_BYTES, packed_bytes=_PACKED_HEAD_BYTES)
    return stream.read(HEAD_BYTES)
