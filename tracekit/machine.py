"""Which machine this is, and which run of it: the same boot id means the same kernel, so its file locks can be trusted."""

from __future__ import annotations

import socket
import subprocess
from functools import cache
from pathlib import Path


def host() -> str:
    """Name of this machine."""
    return socket.gethostname()


@cache
def boot_id() -> str:
    """Id that changes when the machine starts anew; empty where the system has none."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return _bsd_boot_id()


def _bsd_boot_id() -> str:
    try:
        answer = subprocess.run(
            ["/usr/sbin/sysctl", "-n", "kern.bootsessionuuid"],
            capture_output=True,
            text=True,
            check=True,
            timeout=5,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return answer.stdout.strip()
