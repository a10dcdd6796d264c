"""A task of a script that was started as main goes on in a process that loads the script under another name."""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import tracekit
from tracekit.errors import TracekitError

SCRIPT = '''
import dataclasses, os, signal, sys
from decimal import Decimal

import tracekit


@dataclasses.dataclass
class Order:
    id: str
    total: Decimal


class Closed(Exception):
    pass


@tracekit.tool
def find(order_id: str) -> Order:
    note("find")
    return Order(order_id, Decimal("12.50"))


@tracekit.tool
def shop(order: Order) -> str:
    note("shop")
    raise Closed("until Monday")


def note(text: str) -> None:
    with open("done.txt", "a") as out:
        out.write(text + "\\n")


@tracekit.task
def work(run, order_id):
    """Look at an order."""
    order = find(order_id)
    assert isinstance(order, Order), type(order)
    try:
        shop(order)
    except Closed as error:
        told = str(error)
    if os.path.exists("die"):
        os.remove("die")
        os.kill(os.getpid(), signal.SIGKILL)
    return f"{order.total} {told}"


if __name__ == "__main__":
    tracekit.init(service="script")
    print(work.start("A-1", task_id="t"))
'''


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    """A folder with the script, whose task was killed after both calls were answered."""
    (tmp_path / "agent_script.py").write_text(SCRIPT)
    (tmp_path / "die").touch()
    first = _python(tmp_path, "agent_script.py")
    assert first.returncode == -signal.SIGKILL, first.stderr
    return tmp_path


@pytest.mark.parametrize("app", ["agent_script.py", "agent_script", None])
def test_classes_and_exceptions_of_a_script_are_found_again(killed: Path, app: str | None) -> None:
    given = ["--app", app] if app else []
    resumed = _python(killed, "-m", "tracekit", "resume", "t", *given)
    assert resumed.returncode == 0, resumed.stderr
    assert "12.50 until Monday" in resumed.stdout
    assert (killed / "done.txt").read_text().split() == ["find", "shop"]


def test_a_script_that_has_moved_is_found_by_the_name_of_its_file(killed: Path) -> None:
    moved = killed / "elsewhere"
    moved.mkdir()
    (killed / "agent_script.py").rename(moved / "agent_script.py")
    resumed = _python(killed, "-m", "tracekit", "resume", "t", "--app", "elsewhere/agent_script.py")
    assert resumed.returncode == 0, resumed.stderr
    assert (killed / "done.txt").read_text().split() == ["find", "shop"]


def _python(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith("TRACEKIT_")}
    return subprocess.run([sys.executable, *args], cwd=folder, env=env, capture_output=True, text=True)


def test_a_partial_that_no_other_process_could_find_is_refused_where_it_is_declared() -> None:
    with pytest.raises(TracekitError, match="finds by its name") as caught:
        tracekit.task(functools.partial(print, "x"))
    assert caught.value.code == "task.no_name"
