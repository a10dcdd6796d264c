"""What was written to the files of an analysis since they were read: told line by line where they only grew."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from tracekit_analyzers.model import InputFile
from tracekit_analyzers.reading import files, registry, reread

_EDGE_BYTES = 4 << 10
MOST_NEW_BYTES = 32 << 20
"""With more than this at once, reading everything costs no more."""


class MustReadAll(Exception):
    """The news can't be taken in by themselves; says why."""


@dataclass(frozen=True, slots=True)
class Known:
    """How far one file was read."""

    path: Path
    name: str
    """As rows show it."""
    size: int
    """Bytes up to the last line end."""
    seen: tuple[int, int, int]
    """Size, time of change and inode of the file when it was looked at last."""
    edges: bytes
    """Digest of the first bytes and of the last ones before `size`."""


@dataclass(frozen=True, slots=True)
class Grown:
    """The lines that one file has more than before."""

    file: Known
    """As it is now."""
    lines_before: int
    """Number of whole lines that were read before: what was told of later ones is told anew."""
    lines: tuple[reread.Numbered, ...]
    """The new ones; the last may have no end yet."""


class Watch:
    """
    The files behind what a user named, and how far each was read.

    Args:
        given: As the user named them.
        reader: Name of the reader that the user forced, if any.
    """

    def __init__(self, given: Sequence[str], reader: str | None) -> None:
        self._given = tuple(given)
        self._reader = reader
        self._known: dict[Path, Known] = {}
        self._named: dict[str, Known] = {}
        self._unread: frozenset[str] = frozenset()
        self._indexes: dict[Path, reread.LineIndex] = {}

    def look(self) -> dict[Path, tuple[str, tuple[int, int, int]]]:
        """Name, and size, time of change and inode, of each file that is there now."""
        found: dict[Path, tuple[str, tuple[int, int, int]]] = {}
        for path, name in files.named(given for given in self._given if given != files.STDIN):
            try:
                stat = path.stat()
            except FileNotFoundError:
                # Gone since the folder was listed.
                continue
            found.setdefault(path, (name, (stat.st_size, stat.st_mtime_ns, stat.st_ino)))
        return found

    @property
    def bytes(self) -> int:
        """Size of all files, as they were looked at last."""
        return sum(known.seen[0] for known in self._known.values())

    def all_read(
        self, before: dict[Path, tuple[str, tuple[int, int, int]]], skipped: Collection[str]
    ) -> None:
        """Everything was read; *before* is what `look` said before that, *skipped* are names that no reader knew."""
        self._unread = frozenset(skipped)
        self._indexes.clear()
        self._known.clear()
        self._named.clear()
        for path, (name, seen) in before.items():
            self._keep(_known(path, name, seen))

    def news(self) -> list[Grown]:
        """
        The files that have grown, with their new lines; `taken` says that they were taken in.

        Raises:
            MustReadAll: A file was replaced, shortened or removed, or is none of which single lines can be read.
        """
        there = self.look()
        changed = [path for path, (_, seen) in there.items() if not self._is_known(path, seen)]
        gone = self._known.keys() - there.keys()
        if gone:
            raise MustReadAll(f"{min(gone)} is gone")
        if changed and self._reader not in (None, registry.NATIVE):
            raise MustReadAll("its format is not read line by line")
        new_bytes = sum(there[path][1][0] - self._size_of(path) for path in changed)
        if new_bytes > MOST_NEW_BYTES:
            raise MustReadAll(f"{new_bytes:,} bytes are new")
        try:
            return [grown for path in changed if (grown := self._grown(path, *there[path])) is not None]
        except OSError as error:
            raise MustReadAll(f"a file changed while it was read: {error}") from error

    def taken(self, grown: Sequence[Grown]) -> None:
        """The lines of *grown* are part of the analysis now."""
        for one in grown:
            self._keep(one.file)
        self._unread -= {one.file.name for one in grown}

    def lines(self, name: str, numbers: Collection[int]) -> Iterator[reread.Numbered]:
        """The lines of the file called *name* with these *numbers*; raises `MustReadAll` for a file that is not known."""
        known = self._named.get(name)
        if known is None:
            raise MustReadAll(f"{name} is no file that is followed")
        yield from self._index(known.path).lines(numbers, known.size)

    def _keep(self, known: Known) -> None:
        self._known[known.path] = self._named[known.name] = known

    def _is_known(self, path: Path, seen: tuple[int, int, int]) -> bool:
        known = self._known.get(path)
        return known is not None and known.seen == seen

    def _size_of(self, path: Path) -> int:
        known = self._known.get(path)
        return 0 if known is None or known.name in self._unread else known.size

    def _index(self, path: Path) -> reread.LineIndex:
        return self._indexes.setdefault(path, reread.LineIndex(path))

    def _grown(self, path: Path, name: str, seen: tuple[int, int, int]) -> Grown | None:
        """What *path* has more; None for a file that no reader knows yet."""
        known = self._known.get(path)
        if known is not None and known.name in self._unread:
            known = None
        if known is not None and _is_another(known, seen):
            raise MustReadAll(f"{name} was replaced")
        if not _read_by_lines(path, name):
            if known is None:
                self._keep(Known(path, name, 0, seen, b""))
                self._unread |= {name}
                return None
            raise MustReadAll(f"{name} is not read line by line")
        start = self._size_of(path)
        before = self._index(path).ends_before(start) if start else 0
        lines = reread.from_byte(path, start, seen[0], before + 1)
        return Grown(_known(path, name, seen), before, tuple(lines))


def _known(path: Path, name: str, seen: tuple[int, int, int]) -> Known:
    try:
        size = reread.last_line_end(path, seen[0])
        return Known(path, name, size, seen, _edges(path, size))
    except OSError:
        # Gone meanwhile: the next look says so.
        return Known(path, name, 0, seen, b"")


def _is_another(known: Known, seen: tuple[int, int, int]) -> bool:
    """Whether the file is not the one that was read, with more at its end."""
    return known.seen[2] != seen[2] or seen[0] < known.size or _edges(known.path, known.size) != known.edges


def _edges(path: Path, size: int) -> bytes:
    with path.open("rb") as stream:
        first = stream.read(min(_EDGE_BYTES, size))
        stream.seek(max(0, size - _EDGE_BYTES))
        return sha256(first + b"\0" + stream.read(min(_EDGE_BYTES, size))).digest()


def _read_by_lines(path: Path, name: str) -> bool:
    """Whether *path* is a native log, unpacked."""
    if files.packed(path):
        return False
    chosen = registry.choose(InputFile(path, name, files.head(path)))
    return chosen is not None and chosen.name == registry.NATIVE
