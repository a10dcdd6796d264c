"""A home that tracekit makes is for its user alone, whatever the umask and however deep."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

AGENT = "import tracekit; tracekit.init(); tracekit.tool(lambda order_id: order_id)('A-1')"
TASK = "from tracekit.store import open_store; open_store('a/home/state.db').close()"


@pytest.mark.parametrize("program", [AGENT, TASK])
def test_every_folder_that_is_made_is_for_its_user_alone(program: str, tmp_path: Path) -> None:
    env = os.environ | {"TRACEKIT_HOME": "a/home"}
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=env, umask=0, check=True)

    modes = {str(path.relative_to(tmp_path)): path.stat().st_mode & 0o777 for path in tmp_path.rglob("*")}
    assert "a/home" in modes
    assert {name: oct(mode) for name, mode in modes.items() if mode & 0o077} == {}
