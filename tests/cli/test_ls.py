"""`tracekit ls` marks what is left to be done, looks at every task for those that are stuck, and says when it cuts off."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import tracekit
from tracekit import config
from tracekit.cli import main
from tracekit.durable.owning import close_all


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("TRACEKIT_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("TRACEKIT_STORE", raising=False)
    config.reset()
    tracekit.init(service="ls")
    yield tmp_path / "home"
    close_all()
    config.reset()


@tracekit.tool(effect="notify", critical=False, retry=tracekit.Retry(attempts=1))
def tell(name: str) -> str:
    raise ConnectionRefusedError("the mail server is down")


@tracekit.task
def quiet(run: tracekit.Run) -> str:
    return "done"


@tracekit.task
def telling(run: tracekit.Run) -> str:
    run.tool(tell, "Ann")
    return "done"


def test_a_task_that_left_steps_out_is_marked(capsys: pytest.CaptureFixture[str]) -> None:
    quiet.start(task_id="a")
    telling.start(task_id="b")

    assert main(["ls"]) == 0

    head, first, second = (line.split() for line in capsys.readouterr().out.splitlines())
    assert head[:4] == ["task", "status", "to", "do"]
    assert (first[:3], second[:3]) == (["a", "done", "-"], ["b", "done", "1"])
    assert main(["ls", "--format", "json"]) == 0
    assert [row["left_out"] for row in json.loads(capsys.readouterr().out)] == [0, 1]


def test_nothing_is_said_of_what_is_to_do_where_nothing_is(capsys: pytest.CaptureFixture[str]) -> None:
    quiet.start(task_id="a")

    main(["ls"])

    assert "to do" not in capsys.readouterr().out


def test_a_stuck_task_is_found_behind_more_tasks_than_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(4):
        quiet.start(task_id=f"a{number}")
    quiet.submit(task_id="z")
    close_all()  # as long as this process is there, it counts as a worker

    main(["ls", "--stuck", "--limit", "2"])

    told = capsys.readouterr()
    assert [line.split()[0] for line in told.out.splitlines()] == ["task", "z"]
    assert told.err == ""


def test_a_list_that_is_cut_off_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(3):
        quiet.submit(task_id=f"a{number}")

    for words, shown, told in ((["--limit", "2"], 2, True), (["--limit", "3"], 3, False)):
        main(["ls", "--stuck", *words])
        said = capsys.readouterr()
        assert len(said.out.splitlines()) == shown + 1
        assert ("--limit N gives more" in said.err) is told
