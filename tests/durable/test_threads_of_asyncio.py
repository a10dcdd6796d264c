"""Plain tools that an async task runs through `asyncio.to_thread` find their calls again."""

from __future__ import annotations

import asyncio
import threading

import pytest

import tracekit
from tracekit.durable.owning import ownership

calls: list[str] = []
broken: list[Exception] = []


@pytest.fixture(autouse=True)
def nothing_called() -> None:
    calls.clear()
    broken.clear()


@tracekit.tool(effect="write")
def note(what: str) -> str:
    calls.append(what)
    return f"noted {what}"


def two_notes(what: str) -> list[str]:
    return [note(f"{what}1"), note(f"{what}2")]


def break_once() -> None:
    if broken:
        raise broken.pop()


@tracekit.task
async def in_threads(run: tracekit.Run) -> list[object]:
    found: list[object] = [await asyncio.to_thread(note, "alone")]
    found += await asyncio.gather(*(asyncio.to_thread(two_notes, what) for what in "abc"))
    with run.branch("named"):
        found.append(await asyncio.to_thread(two_notes, "n"))
    found.append(note("last"))
    break_once()
    return found


def test_each_call_is_made_once_over_a_resume() -> None:
    broken.append(RuntimeError("power"))
    with pytest.raises(RuntimeError):
        in_threads.start(task_id="t")
    places = _places()

    result = tracekit.resume("t")

    lists = [[f"noted {what}1", f"noted {what}2"] for what in "abcn"]
    assert result == ["noted alone", *lists[:3], lists[3], "noted last"]
    assert sorted(calls) == sorted(["alone", "last", *(f"{what}{n}" for what in "abcn" for n in (1, 2))])
    assert _places() == places


def test_a_thread_that_copied_the_context_itself_still_has_to_name_its_branch() -> None:
    import contextvars

    refused: list[str] = []

    def bare() -> None:
        try:
            note("bare")
        except tracekit.TracekitError as error:
            refused.append(error.code)

    @tracekit.task
    async def own_thread(run: tracekit.Run) -> str:
        worker = threading.Thread(target=contextvars.copy_context().run, args=(bare,))
        worker.start()
        worker.join()
        return "ended"

    assert own_thread.start(task_id="own") == "ended"
    assert refused == ["task.unnamed_thread"]


def _places() -> dict[str, str]:
    state = ownership().store.load("t")
    assert state is not None
    return {row.place: row.args_digest for row in state.steps if row.name == "note"}
