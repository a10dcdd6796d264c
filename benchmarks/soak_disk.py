"""A disk of its own for the folder of logs, which can be full and empty again."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

ROOM_BYTES = 1 << 30
LEFT_BYTES = 16 << 10
"""Room that is left when the disk begins to be full: some lines still fit, one of them in half."""


class LogDisk:
    """
    The folder of logs on a small disk in memory (root on Linux); else a limit of the size of files, set on running
    workers (Linux); else nothing.
    """

    def __init__(self, folder: Path, workers: Callable[[], Sequence[int]]) -> None:
        """
        Args:
            workers: Process ids of those that write there.
        """
        self.folder = folder
        self._workers = workers
        folder.mkdir(parents=True, mode=0o700)
        self.how = "none on this system"
        if sys.platform == "linux":
            self.how = "a limit on the size of files" if os.geteuid() or not self._mount() else "tmpfs"
        self.full_ms: list[tuple[int, int]] = []
        """When it was full, as milliseconds since the epoch."""
        self._full_since_ms = 0
        self._full_until_s = 0.0
        self._limited: set[int] = set()

    def fill(self, seconds: float) -> bool:
        """Let the disk be full for *seconds*; whether it is."""
        if self.how == "none on this system":
            return False
        since_ms = int(time.time() * 1000)
        if self.how == "tmpfs" and not self._shrink():
            return False
        self._full_since_ms = self._full_since_ms or since_ms
        self._full_until_s = time.monotonic() + seconds
        return True

    def look(self) -> None:
        """Make room when the time is over; else see that new workers find the disk full too."""
        if not self._full_until_s:
            return
        if time.monotonic() >= self._full_until_s:
            self.free()
        elif self.how != "tmpfs":
            for pid in set(self._workers()) - self._limited:
                self._limit(pid, LEFT_BYTES)
                self._limited.add(pid)

    def free(self) -> None:
        """Make room."""
        self._full_until_s = 0.0
        if self.how == "tmpfs":
            self._resize(ROOM_BYTES)
        for pid in self._limited:
            self._limit(pid, -1)
        self._limited.clear()
        if self._full_since_ms:
            self.full_ms.append((self._full_since_ms, int(time.time() * 1000)))
            self._full_since_ms = 0

    def close(self) -> None:
        """Take the disk away."""
        if self.how == "tmpfs":
            subprocess.run(["umount", "--lazy", str(self.folder)], check=False, capture_output=True)

    def _mount(self) -> bool:
        words = ["mount", "-t", "tmpfs", "-o", f"size={ROOM_BYTES},mode=700", "tmpfs", str(self.folder)]
        return subprocess.run(words, check=False, capture_output=True).returncode == 0

    def _resize(self, size: int) -> bool:
        words = ["mount", "-o", f"remount,size={size}", str(self.folder)]
        return subprocess.run(words, check=False, capture_output=True).returncode == 0

    def _shrink(self) -> bool:
        for _ in range(20):  # refused when more was written in between
            found = os.statvfs(self.folder)
            if self._resize((found.f_blocks - found.f_bfree) * found.f_frsize + LEFT_BYTES):
                return True
        return False

    @staticmethod
    def _limit(pid: int, size: int) -> None:
        import resource

        with suppress(ProcessLookupError):
            hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)[1]
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, hard))


@contextmanager
def log_disk(folder: Path, workers: Callable[[], Sequence[int]]) -> Iterator[LogDisk]:
    """A disk for *folder* that is gone after the block."""
    disk = LogDisk(folder, workers)
    try:
        yield disk
    finally:
        disk.close()
