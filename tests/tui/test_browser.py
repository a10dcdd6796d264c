"""The whole way in a real browser: `--web` in headless Chromium, keys only, from the list to the ended task."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tui.chromium import chromium, opened
from tests.tui.killed import AGENT, environment, killed_agent, moved

pytestmark = pytest.mark.skipif(chromium() is None, reason="no Chromium is installed")


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    home = tmp_path / "home"
    killed_agent(home, at="after_dispatch#4")
    command = [sys.executable, "-m", "tracekit.cli", "tui", str(home), "--app", str(AGENT), "--web"]
    server = subprocess.Popen(command, env=environment(home), stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    found = None
    while found is None:
        line = server.stderr.readline()
        assert line, "the server ended before it said its address"
        found = re.search(r"http://\S+", line)
    yield found[0]
    server.send_signal(signal.SIGINT)
    _, said = server.communicate(timeout=20)
    assert "token" not in said


async def test_a_person_recovers_a_killed_task_in_a_browser_by_keys_only(
    address: str, tmp_path: Path
) -> None:
    command = chromium()
    assert command is not None
    async with opened(command, address, tmp_path) as tab:
        await tab.shows("process.killed")
        await tab.press("Enter")
        screen = await tab.shows("⟨decimal 99.50⟩")
        assert "model wrote" in screen
        assert '"99.50"' in screen

        await tab.press("v")
        await tab.shows("started and never ended")
        await tab.press("r")
        await tab.shows("RECOMMENDED")
        await tab.press("r")
        await tab.shows("resume ticket-77")
        await tab.press("Enter")
        screen = await tab.shows("ended with code 0")
        picture = await tab.picture(tmp_path / "browser.png")

        assert "The refund of A-1024 is done." in screen
        assert moved(tmp_path / "home") == 1
        # A blank canvas would be a few hundred bytes.
        assert len(picture) > 10_000
