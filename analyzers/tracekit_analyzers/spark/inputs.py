"""Which files are meant, on the driver: local ones as one machine finds them, others through the file systems that Spark knows."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from tracekit.errors import TracekitError
from tracekit_analyzers.model import InputFile
from tracekit_analyzers.reading import files, registry
from tracekit_analyzers.reading.ingest import nothing_read
from tracekit_analyzers.reading.workplace import Workplace

_BOM = b"\xef\xbb\xbf"
_GLOB = re.compile(r"([\\{}\[\]*?])")
_LARGEST_WHOLE = (1 << 31) - 1024
"""A file that is not cut is one value of Java."""
_PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PAR1")


@dataclass(frozen=True, slots=True)
class LogFile:
    """One file of the log."""

    number: int
    """Its place in the order in which one machine would read."""
    uri: str
    name: str
    """What reports call it."""
    size: int
    reader: str | None
    """None: the executor asks the file itself, as one machine does."""
    splittable: bool
    """Plain native lines, which Spark may cut at any line; others are read whole."""
    bom: bool


@dataclass(frozen=True, slots=True)
class Inputs:
    """All files of the log."""

    files: tuple[LogFile, ...]
    skipped: tuple[str, ...]
    """Files in no known format."""


@dataclass(frozen=True, slots=True)
class _Found:
    uri: str
    name: str
    size: int
    head: bytes
    first_bytes: bytes


def key_of(uri: str) -> str:
    """One and the same text for a path, however Spark writes it."""
    parts = urlsplit(uri)
    if not parts.scheme:
        return unquote(uri)
    return f"{parts.scheme}:{'//' + parts.netloc if parts.netloc else ''}{unquote(parts.path)}"


def for_spark(uri: str) -> str:
    """*uri* with what Spark would take for a pattern taken literally."""
    return _GLOB.sub(r"\\\1", key_of(uri))


def find(paths: Sequence[str], spark: Any, reader: str | None) -> Inputs:
    """The files behind *paths*; raises `TracekitError("input.*")`."""
    taken: dict[str, _Found] = {}
    for given in paths:
        for found in _remote(given, spark) if "://" in given else _local(given):
            taken.setdefault(key_of(found.uri), found)
    known: list[LogFile] = []
    skipped: list[str] = []
    for found in taken.values():
        chosen = registry.choose(InputFile(Path(found.name), found.name, found.head), reader)
        native = chosen is not None and chosen.name == registry.NATIVE
        if chosen is None and not found.first_bytes.startswith(_PACKED):
            skipped.append(found.name)
        elif found.size:
            known.append(_log_file(len(known), found, native=native, reader=reader))
    if not known and skipped:
        raise nothing_read([InputFile(Path(name), name, b"") for name in skipped], skipped)
    return Inputs(tuple(known), tuple(skipped))


def _log_file(number: int, found: _Found, *, native: bool, reader: str | None) -> LogFile:
    packed = found.first_bytes.startswith(_PACKED) or found.name.endswith((".gz", ".bz2", ".zst"))
    plain = native and not packed
    if not plain and found.size > _LARGEST_WHOLE:
        raise TracekitError(
            "input.too_large",
            f"{found.name} has {found.size >> 20} MB: only plain native logs are cut into pieces, other files may have "
            "2 GB on Spark; cut it, or unpack it and `tracekit convert` it first",
        )
    bom = found.head.startswith(_BOM)
    return LogFile(
        number, found.uri, found.name, found.size, registry.NATIVE if plain else reader, plain, bom
    )


def _local(given: str) -> Iterator[_Found]:
    if given == files.STDIN:
        raise TracekitError("input.missing", "standard input can't be spread over a cluster: name a file")
    with Workplace() as spool:
        for file in files.find([given], Path(spool)):
            # What is unpacked to be looked at here is unpacked once more where it is read.
            path = Path(file.name).resolve()
            with path.open("rb") as stream:
                first = stream.read(4)
            yield _Found(path.as_uri(), file.name, path.stat().st_size, file.head, first)


def _remote(given: str, spark: Any) -> Iterator[_Found]:
    """Files of a path with a scheme, such as `s3a://bucket/logs`, through Hadoop's file systems."""
    jvm = spark.sparkContext._jvm
    path = jvm.org.apache.hadoop.fs.Path(given)
    system = path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())
    tops = system.globStatus(path)
    if not tops:
        raise TracekitError("input.missing", f"expected a log file or folder, found nothing at {given!r}")
    for top in tops:
        for status in _listed(system, top):
            yield _opened(system, status)


def _listed(system: Any, top: Any) -> list[Any]:
    if not top.isDirectory():
        return [top]
    inner = top.getPath().suffix("/traces")
    folder = inner if system.exists(inner) else top.getPath()
    walk, found = system.listFiles(folder, True), []
    base = str(folder)
    while walk.hasNext():
        status = walk.next()
        inside = str(status.getPath())[len(base) :].lstrip("/")
        if files.may_be_log(Path(inside)):
            found.append((inside, status))
    return [status for _, status in sorted(found, key=lambda pair: pair[0])]


def _opened(system: Any, status: Any) -> _Found:
    stream = system.open(status.getPath())
    try:
        data = bytes(stream.readNBytes(files.HEAD_BYTES))
    finally:
        stream.close()
    uri = str(status.getPath().toUri())
    return _Found(
        uri, str(status.getPath()), status.getLen(), files.unpacked_head(io.BytesIO(data)), data[:4]
    )
