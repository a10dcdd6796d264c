"""
The log file of this process: one `write` for each line, a lock held while the process lives, losses counted.

Nothing here raises: where a line can't be written the agent goes on, the loss is counted, told once as a warning
and once more in the file as soon as writing works again.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import logging
import math
import os
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path

from tracekit import clock
from tracekit.folders import make_private
from tracekit.recording import lines
from tracekit.recording.identity import ProcessIdentity

_log = logging.getLogger("tracekit")

LOOK_AGAIN_S = 0.01
"""How often the file is looked at: whether it was closed, replaced or deleted under us (1 us each time)."""
_NEW_FILE = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC
RETRY_OPEN_S = 1.0
"""Wait after a failed open before the next one: an agent with no log must not pay for it at every step."""


class LogWriter:
    """Appends lines to `HOME/traces/SERVICE-TIME-PID-RANDOM.jsonl`, made at the first line."""

    def __init__(
        self,
        traces: Path,
        service: str,
        who: ProcessIdentity,
        *,
        rotate_bytes: int,
        header: Callable[[], dict[str, object]] = dict,
        on_new_file: Callable[[], None] = lambda: None,
    ) -> None:
        self._traces = traces
        self._service = service
        self._who = who
        self._rotate_bytes = rotate_bytes
        self._header = header
        self._on_new_file = on_new_file
        # reentrant: a signal handler or a finaliser may record while this thread is inside `write`
        self._lock = threading.RLock()
        self._fds: list[int] = []
        self._inode: tuple[int, int] | None = None
        self._size = 0
        self._retry_at_s = 0.0
        self._files_made = 0
        self._look_at_s = -math.inf
        self._unreported = 0
        self._reason = ""
        self._warned = False
        self.path: Path | None = None
        """The file in use; None before the first line."""
        self.lines_written = 0
        self.lines_dropped = 0

    def write(self, line: bytes) -> bool:
        """Append *line*, which ends with a newline; False if it was lost."""
        with self._lock:
            try:
                self._write(line)
            except OSError as error:
                self._lost(error)
                return False
            return True

    def append(self, lines: bytes, *, count: int) -> None:
        """Append *count* whole lines in one write; on `OSError` none of them is there, and nothing counts as lost."""
        with self._lock:
            self._write(lines)
            self.lines_written += count - 1

    def _write(self, line: bytes) -> None:
        now_s = time.monotonic()
        if not self._fds or now_s > self._look_at_s or self._size >= self._rotate_bytes or self._unreported:
            self._look(now_s)
        try:
            _write_whole(self._fds[-1], line)
        except OSError as error:
            if error.errno != errno.EBADF:
                raise
            self._look(now_s)  # somebody closed it since the last look
            _write_whole(self._fds[-1], line)
        self._size += len(line)
        self.lines_written += 1

    def _look(self, now_s: float) -> None:
        """See that the newest file is ours, open and not full, else open the next; tell losses in it."""
        self._look_at_s = now_s + LOOK_AGAIN_S
        if self._fds and not self._still_ours(self._fds[-1]):
            self._fds.pop()
            self._open()
        elif not self._fds or self._size >= self._rotate_bytes:
            self._open()
        if self._unreported:
            line = lines.drops_line(self._unreported, self._reason)
            _write_whole(self._fds[-1], line)
            self._unreported = 0
            self.lines_written += 1

    def prepare(self) -> bool:
        """Open the file if there is none yet, or follow a full one; True if it is a new one."""
        with self._lock:
            before = self._inode
            try:
                self._look(time.monotonic())
            except OSError:
                return False  # counted when the line itself is written
            return self._inode != before

    def close(self, **counts: object) -> None:
        """Write the clean-exit line into every file of this process; files stay open for late lines."""
        with self._lock:
            line = lines.process_line(self._who, "exit", self._service, **counts)
            for fd in self._fds:
                try:
                    _write_whole(fd, line)
                except OSError:
                    continue  # the process is ending: there is nobody left to tell

    def abandon(self) -> None:
        """Give up the files in a forked child: they are the parent's, and so is the lock on them."""
        for fd in self._fds:
            try:
                os.close(fd)
            except OSError:
                continue  # somebody closed it already, which is what was wanted
        self._fds = []

    def _still_ours(self, fd: int) -> bool:
        """Whether *fd* is our file still: closed by somebody, taken by another file, or deleted are all no."""
        try:
            found = os.fstat(fd)
        except OSError:
            return False
        self._size = found.st_size
        return (found.st_dev, found.st_ino) == self._inode and found.st_nlink > 0

    def _open(self) -> None:
        now_s = clock.current().monotonic_s()
        if now_s < self._retry_at_s:
            raise OSError(self._reason or "the log can't be opened")
        try:
            self._open_next()
        except OSError:
            self._retry_at_s = now_s + RETRY_OPEN_S
            raise

    def _open_next(self) -> None:
        make_private(self._traces)
        path, fd = self._new_file()
        # on a file system without locks liveness is told by the pid alone
        with contextlib.suppress(OSError):
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        header = lines.process_line(self._who, "start", self._service, **self._header())
        try:
            _write_whole(fd, header)
        except OSError:
            os.close(fd)
            path.unlink()  # no file without its first line
            raise
        found = os.fstat(fd)
        self._inode, self._size, self.path = (found.st_dev, found.st_ino), found.st_size, path
        self._fds.append(fd)
        self.lines_written += 1
        self._on_new_file()

    def _new_file(self) -> tuple[Path, int]:
        """The next file of this process by number, made private; a signal handler may have been quicker."""
        service = re.sub(r"[^A-Za-z0-9_.-]+", "_", self._service)[:60].lstrip(".") or "agent"
        when = re.sub(r"[-:]", "", clock.rfc3339(self._who.started_at)[:19])
        stem = f"{service}-{when}-{self._who.pid}-{self._who.process_id[:8]}"
        while True:
            self._files_made += 1
            number = f".{self._files_made}" if self._files_made > 1 else ""
            path = self._traces / f"{stem}{number}.jsonl"
            try:
                return path, os.open(path, _NEW_FILE, 0o600)
            except FileExistsError:
                continue

    def _lost(self, error: OSError) -> None:
        self._unreported += 1
        self.lines_dropped += 1
        self._reason = error.strerror or str(error)
        if not self._warned:
            self._warned = True
            _log.warning(
                "tracekit can't write its log under %s (%s); the agent goes on, losses are counted and told in the "
                "log when writing works again",
                self._traces,
                self._reason,
            )


def _write_whole(fd: int, line: bytes) -> None:
    """Append *line* whole or not at all; OSError if not."""
    written = os.write(fd, line)
    if written != len(line):
        # the disk filled up inside the line: take the piece back so that no half line stays
        os.ftruncate(fd, os.fstat(fd).st_size - written)
        raise OSError(errno.ENOSPC, "only a part of the line could be written")
