"""Whoever opens the receiver to other machines is told what clients must send."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_an_empty_token_in_the_environment_counts_as_none_and_the_made_one_is_told(tmp_path: Path) -> None:
    env = {**os.environ, "TRACEKIT_COLLECT_TOKEN": "", "TRACEKIT_HOME": str(tmp_path)}
    receiver = subprocess.Popen(
        [sys.executable, "-m", "tracekit.cli", "collect", "--host", "0.0.0.0", "--port", "0"],
        env=env,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert receiver.stderr is not None
        told = []
        for line in receiver.stderr:
            told.append(line)
            if "not encrypted" in line:  # the last one before it serves
                break
    finally:
        receiver.kill()
        receiver.wait()

    assert any("authorization=Bearer%20" in line for line in told)
