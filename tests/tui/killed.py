"""A real agent, killed with SIGKILL by itself at a named point: its log and its store are what it left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

AGENT = Path(__file__).with_name("agent_app.py")
ROOT = Path(__file__).parents[2]


def environment(home: Path, **more: str) -> dict[str, str]:
    """What the agent and its recovery are run with."""
    paths = os.pathsep.join(str(ROOT / part) for part in (".", "analyzers", "tui"))
    return {
        **os.environ,
        "TRACEKIT_HOME": str(home),
        "AGENT_WORLD": str(home / "world.jsonl"),
        "PYTHONPATH": paths,
        **more,
    }


def killed_agent(home: Path, *, at: str, probe: bool = True, task: str = "ticket-77") -> str:
    """Url of the store that the agent left when it was killed *at* the point."""
    home.mkdir(parents=True, exist_ok=True)
    more = {"TRACEKIT_KILL_AT": at, "AGENT_PROBE": "on" if probe else "off"}
    ended = subprocess.run(
        [sys.executable, str(AGENT), task],
        env=environment(home, **more),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    return f"sqlite:{home / 'state.db'}"


def moved(home: Path) -> int:
    """How often the money moved."""
    world = home / "world.jsonl"
    return len(world.read_text().splitlines()) if world.exists() else 0
