"""From what a user names (files, folders, patterns, `-`) to the files to read."""

from __future__ import annotations

import glob
import shutil
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

from tracekit.errors import TracekitError
from tracekit_analyzers.model import InputFile
from tracekit_analyzers.reading import parquet

HEAD_BYTES = 64 * 1024
_GZIP_HEAD_BYTES = 1 << 20
STDIN = "-"
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
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
        return InputFile(path, name, head(path))
    except OSError as error:
        raise TracekitError(
            "input.unreadable", f"expected to read {name}, but: {error.strerror or error}"
        ) from error


def packed(path: Path) -> bool:
    """Whether the file is gzip or zstandard by its first bytes."""
    with path.open("rb") as stream:
        magic = stream.read(4)
    return magic[:2] == _GZIP or magic == _ZSTD


def head(path: Path) -> bytes:
    """First 64 KiB of the file, unpacked; what a broken archive still gives."""
    with path.open("rb") as stream:
        return unpacked_head(stream)


def unpacked_head(stream: BinaryIO) -> bytes:
    """First 64 KiB of *stream*, which stands at its beginning and can go back there, unpacked."""
    magic = stream.read(4)
    stream.seek(0)
    try:
        if magic[:2] == _GZIP:
            return _first_of_gzip(stream)
        if magic == _ZSTD:
            import zstandard

            return zstandard.ZstdDecompressor().stream_reader(stream).read(HEAD_BYTES)
    except zstandard_error():
        return b""
    return stream.read(HEAD_BYTES)


def _first_of_gzip(stream: BinaryIO) -> bytes:
    """
    First 64 KiB of the first members of a gzip *stream*, from its first megabyte.

    `GzipFile` passes over zeros behind a member, however many gigabytes of them there are.
    """
    packed_bytes = stream.read(_GZIP_HEAD_BYTES)
    found = bytearray()
    while packed_bytes[:2] == _GZIP and len(found) < HEAD_BYTES:
        member = zlib.decompressobj(wbits=31)
        try:
            found += member.decompress(packed_bytes, HEAD_BYTES - len(found))
        except zlib.error:
            break
        packed_bytes = member.unused_data.lstrip(b"\0")
    return bytes(found)


def zstandard_error() -> type[Exception]:
    """The error that the zstandard package raises for a broken archive."""
    import zstandard

    return zstandard.ZstdError
