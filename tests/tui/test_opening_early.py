"""A trace that is opened while a large log is still being read: its own lines are shown, and the verdict follows."""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tui.driving import press, screen_text
from tracekit_analyzers.engine import Engine
from tracekit_analyzers.session import Session
from tracekit_analyzers.shortcuts import glance
from tracekit_tui.app import Explorer
from tracekit_tui.controller import open_controller
from tracekit_tui.list import VirtualList

TRACES = 30
TRACE = f"{TRACES - 1:032x}"


def write(path: Path) -> Path:
    with path.open("w") as stream:
        for n in range(TRACES):
            trace = f"{n:032x}"
            said = {"role": "user", "content": f"refund {n}"}
            lines = [
                {"record": "message", "trace_id": trace, "hash": f"m{n}", "role": "user", "message": said},
                _step(trace, n, 0, kind="task", name=f"run {n}", status="running"),
                _step(trace, n, 1, kind="model", name="ask", status="ok", context={"digest": f"d{n}", "count": 1, "base": None, "keep": 0, "hashes": [f"m{n}"]}),
                *(_step(trace, n, at, kind="tool", name="look", status="ok", output_snapshot=f"found {n}/{at}") for at in range(2, 8)),
                _step(trace, n, 8, kind="tool", name="pay", status="error", error_type="TimeoutError", error_message="timed out"),
                _step(trace, n, 0, kind="task", name=f"run {n}", status="error", error_type="TimeoutError"),
            ]  # fmt: skip
            stream.writelines(json.dumps(line) + "\n" for line in lines)
    return path


def _step(trace: str, n: int, at: int, **fields: object) -> dict[str, object]:
    """A step of trace *n* that began *at* seconds into it, under its task."""
    parent = {"parent_step_id": f"{n}-0"} if at else {}
    ended = {} if fields["status"] == "running" else {"finished_at": f"2026-01-01T00:{n:02d}:{at + 1:02d}Z"}
    begun = {"step_id": f"{n}-{at}", "started_at": f"2026-01-01T00:{n:02d}:{at:02d}Z"}
    return {"record": "step", "trace_id": trace, **begun, **parent, **ended, **fields}


@pytest.fixture
def held_back(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Set to let the reading of the whole log begin, which is always behind a first look here."""
    go_on = threading.Event()
    load = Engine.load

    def wait(engine: Engine) -> None:
        assert go_on.wait(60)
        load(engine)

    monkeypatch.setattr(glance, "WORTH_BYTES", 1000)
    monkeypatch.setattr(Engine, "load", wait)
    yield go_on
    go_on.set()


async def test_its_tree_and_details_are_shown_and_the_cursor_stays_when_the_verdict_comes(
    tmp_path: Path, held_back: threading.Event
) -> None:
    path = write(tmp_path / "log.jsonl")
    app = Explorer(lambda: open_controller([path], store=None, app=None, reader=None))
    async with app.run_test(size=(150, 30)) as pilot:
        await _until(pilot, lambda: app.screen.query_one("#traces", VirtualList).total == TRACES)
        await pilot.press("enter")
        await _until(pilot, lambda: "found" in screen_text(app) or "pay" in screen_text(app))
        steps = app.screen.query_one("#steps", VirtualList)
        await pilot.press("j", "j", "j")
        await _until(pilot, lambda: f"found {TRACES - 1}/3" in screen_text(app))
        early, at = screen_text(app), (steps.cursor, steps.current.step_id)
        assert app.loading

        held_back.set()
        await _until(pilot, lambda: not app.loading and "timeout.no_answer" in screen_text(app))

        assert "being judged" in early
        assert "timeout.no_answer" not in early
        assert (steps.cursor, steps.current.step_id) == at
        await press(pilot, "right_square_bracket")
        assert steps.current.name == "pay"
    assert app.defects == []
    assert app.controller is not None
    app.controller.close()


async def _until(pilot, true) -> None:  # type: ignore[no-untyped-def]  # a pilot and a question
    for _ in range(1500):
        if true():
            return
        await pilot.pause(0.02)
    raise AssertionError(screen_text(pilot.app))


def test_what_is_shown_early_is_what_the_reading_shows_but_for_the_verdict(
    tmp_path: Path, held_back: threading.Event
) -> None:
    session = Session([write(tmp_path / "log.jsonl")], early_rows=True)
    stages: queue.Queue[str] = queue.Queue()
    reading = threading.Thread(target=lambda: session.load(lambda progress: stages.put(progress.stage)))
    reading.start()
    first_looks = [stages.get(timeout=60) for _ in range(2)]

    def shown() -> list[object]:
        lines = session.steps(TRACE).rows
        details = [session.step(TRACE, line.step_id) for line in lines]
        contexts = [session.context(TRACE, line.step_id) for line in lines]
        bare = [(line.step_id, line.depth, line.name, line.status, line.start_share, line.end_share) for line in lines]  # fmt: skip
        texts = [(d.output, d.source, d.error_message, d.finished_at) for d in details if d is not None]
        return [bare, texts, contexts]

    early = shown()
    row = session.trace(TRACE)
    assert (first_looks, stages.empty()) == (["rows", "rows"], True)
    held_back.set()
    reading.join(60)
    late = shown()
    whole = session.trace(TRACE)
    session.close()

    assert early == late
    assert row is not None
    assert whole is not None
    assert (row.code, whole.code) == (None, "timeout.no_answer")
    assert (row.steps, row.status, row.duration_ms) == (whole.steps, whole.status, whole.duration_ms)
