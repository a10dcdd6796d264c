"""Who writes: the process, its host and boot, under an id that a fork renews."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from functools import lru_cache

from tracekit import clock, machine


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
        clock.current().random_hex(16), os.getpid(), machine.host(), machine.boot_id(), clock.now_ns()
    )


@lru_cache(maxsize=1)
def versions() -> dict[str, str]:
    """Versions that a reader of the log may want to know."""
    from opentelemetry.sdk.version import __version__ as sdk_version

    from tracekit import __version__

    return {"python": platform.python_version(), "tracekit": __version__, "opentelemetry": sdk_version}
