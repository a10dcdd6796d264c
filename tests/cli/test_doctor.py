"""`tracekit doctor`: each thing that can be wrong is found, and said with what to do."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

import tracekit
from tracekit import config
from tracekit.cli import doctor, main
from tracekit.durable.owning import close_all


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("TRACEKIT_HOME", str(folder))
    monkeypatch.delenv("TRACEKIT_STORE", raising=False)
    config.reset()
    yield folder
    close_all()
    config.reset()


@tracekit.task
def two_steps(run: tracekit.Run, name: str) -> str:
    return str(run.step("a", lambda: name * 100)) + str(run.step("b", lambda: name))


def found(capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, tuple[str, str]]]:
    capsys.readouterr()
    code = main(["doctor", "--format", "json"])
    rows = json.loads(capsys.readouterr().out)
    return code, {row["what"]: (row["state"], row["text"]) for row in rows}


def test_every_extra_that_can_be_installed_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]

    _, rows = found(capsys)

    extras = {f"extra [{name}]" for name in project["optional-dependencies"] if name != "all"}
    assert extras <= rows.keys()


def test_a_healthy_home_is_said_to_be_one(capsys: pytest.CaptureFixture[str]) -> None:
    two_steps.start("x", task_id="t")
    close_all()

    code, rows = found(capsys)

    assert code == 0
    assert {
        rows[name][0] for name in ("import name", "sqlite", "log folder", "store", "rows", "database")
    } == {"ok"}


def test_a_changed_row_is_found_by_task_and_the_others_stay_readable(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("t1", "t2", "t3"):
        two_steps.start(name, task_id=name)
    close_all()
    with apsw.Connection(str(home / "state.db")) as db:
        db.execute("UPDATE step SET name = 'other' WHERE task_id = 't2' AND place = '2'")
        db.execute("UPDATE task SET status = 'failed' WHERE task_id = 't3'")

    code, rows = found(capsys)

    assert code == 4
    assert rows["rows"][0] == "bad"
    assert "2 tasks can't be read" in rows["rows"][1]
    assert "task row at task_id 't3'" in rows["rows"][1]
    assert "2 tasks, 0 that nobody will pick up" in rows["store"][1]
    assert "place '2'" in rows["rows"][1]
    assert rows["database"][0] == "ok"


def test_pages_that_were_written_over_are_found(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(30):
        two_steps.start("x", task_id=f"t{number}")
    close_all()
    data = bytearray((home / "state.db").read_bytes())
    data[len(data) // 2 : len(data) // 2 + 8192] = b"\xff" * 8192
    (home / "state.db").write_bytes(data)

    code, rows = found(capsys)

    assert code == 4
    assert "bad" in {rows.get(name, ("",))[0] for name in ("store", "rows", "database")}


def test_another_distribution_under_the_import_name_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    there = {"tracekit": ["tracekit-agents", "tracekit"]}
    monkeypatch.setattr(doctor, "packages_distributions", lambda: there)

    code, rows = found(capsys)

    assert code == 4
    assert rows["import name"][0] == "bad"
    assert "pip uninstall tracekit" in rows["import name"][1]


def test_no_store_is_no_fault(capsys: pytest.CaptureFixture[str]) -> None:
    code, rows = found(capsys)
    assert (code, rows["store"][0]) == (0, "note")
