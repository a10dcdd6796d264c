"""Who writes: the process, its host and boot, under an id that a fork renews."""

from __future__ import annotations

import os
import platform
import re
import socket
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from tracekit import clock


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """One process as the log names it; a forked child is another one."""

    process_id: str
    """16 hexadecimal digits."""
    pid: int
    host: str
    boot_id: str
    """Changes with each start of the machine, so that a pid that is used again is not mistaken."""
    started_at: int
    """Nanoseconds since the epoch, UTC: when recording began in this process."""


def new_identity() -> ProcessIdentity:
    """The identity of this process, with a fresh id."""
    return ProcessIdentity(
        clock.current().random_hex(16), os.getpid(), socket.gethostname(), boot_id(), clock.now_ns()
    )


@lru_cache(maxsize=1)
def boot_id() -> str:
    """Id of this start of the machine; empty where the system does not tell one."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return _boot_time_of_macos()


def _boot_time_of_macos() -> str:
    if sys.platform != "darwin":
        return ""
    import subprocess

    told = subprocess.run(
        ["/usr/sbin/sysctl", "-n", "kern.boottime"], capture_output=True, text=True, check=False
    )
    found = re.search(r"sec = (\d+)", told.stdout)
    return f"boot-{found[1]}" if found else ""


@lru_cache(maxsize=1)
def versions() -> dict[str, str]:
    """Versions that a reader of the log may want to know."""
    from opentelemetry.sdk.version import __version__ as sdk_version

    from tracekit import __version__

    return {"python": platform.python_version(), "tracekit": __version__, "opentelemetry": sdk_version}
