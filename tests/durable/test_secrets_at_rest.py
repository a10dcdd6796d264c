"""Keys that an agent handles, at every place where one can be: no file of its home holds one, and replay has them all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tracekit
from tracekit.durable.api import decide, pending_reviews
from tracekit.durable.owning import close_all, ownership
from tracekit.recording.setup import shutdown

PLACES = (
    "start", "note", "message", "model", "argument", "result", "step", "plan", "question", "option", "answer",
    "rejected", "read_error", "end", "edited",
)  # fmt: skip
seen: list[str] = []


def key(place: str) -> str:
    """A made-up key of the form that providers give out, another one for each place."""
    return "sk-proj-" + (place.replace("_", "0") + "Q7w3ErT9yUiOp5AsDf2GhJk8LzXc4VbN6mQw1ErTyUiOp")[:40]


@tracekit.tool(effect="payment", retry=tracekit.Retry(attempts=1))
def pay(api_key: str) -> dict[str, str]:
    seen.append(api_key)
    return {"token": key("result")}


@tracekit.tool(effect="write", retry=tracekit.Retry(attempts=1))
def refused(text: str) -> str:
    raise tracekit.Rejected(f"not with {key('rejected')}")


@tracekit.tool
def broken(text: str) -> str:
    raise ValueError(f"not with {key('read_error')}")


def ask(messages: list[dict[str, Any]]) -> dict[str, Any]:
    return {"role": "assistant", "content": f"use {key('model')}"}


@tracekit.task(goal="hand keys around")
def job(run: tracekit.Run, secret: str) -> None:
    run.note(key=key("note"))
    run.plan([{"name": f"use {key('plan')}"}])
    reply = run.model(ask, [{"role": "user", "content": f"mine is {key('message')}"}])
    assert key("model") in reply.text
    assert pay(key("argument")) == {"token": key("result")}
    assert run.step("think", lambda: f"it is {key('step')}") == f"it is {key('step')}"
    for tool in (refused, broken):
        with pytest.raises((tracekit.Rejected, ValueError), match="sk-proj-"):
            tool("x")
    assert run.ask(f"is {key('question')} right?", [f"no, {key('option')}"]) == key("answer")
    raise RuntimeError(f"over with {key('end')}")


def run_all() -> None:
    with pytest.raises(tracekit.RequiresReview):
        job.start(key("start"), task_id="t")
    (question,) = pending_reviews(task_id="t")
    assert key("question") in question.panel
    decide(question.review_id, "done", result=key("answer"), by="ann")
    with pytest.raises(RuntimeError, match=key("end")):
        tracekit.resume("t")


def holding(home: Path, words: list[str]) -> dict[str, list[str]]:
    """Files of *home*, also those that the open store has, with the words that they hold."""
    found = {}
    for path in home.rglob("*"):
        if path.is_file() and (held := [word for word in words if word.encode() in path.read_bytes()]):
            found[path.name] = held
    return found


def test_no_file_of_the_home_holds_a_key_and_every_replay_has_them_all(own_home: Path) -> None:
    tracekit.init(home=own_home)
    seen.clear()
    run_all()

    assert len(seen) == 1
    keys = [key(place) for place in PLACES]
    assert holding(own_home, [*keys, *(each[10:30] for each in keys)]) == {}
    close_all()
    shutdown()
    assert holding(own_home, keys) == {}
    assert (own_home / "state.db").stat().st_size > 10_000


def test_with_seal_all_nothing_that_was_said_stands_in_the_store(own_home: Path) -> None:
    said = "The customer Ada Lovelace wants her money back"

    @tracekit.task(goal=said)
    def talk(run: tracekit.Run, text: str) -> str:
        run.note(said=text)
        return run.step("think", lambda: text)

    tracekit.init(home=own_home, log_enabled=False, seal_all=True)
    assert talk.start(said, task_id="t") == said

    assert holding(own_home, [said, "Lovelace"]) == {}
    close_all()
    tracekit.init(seal_all=False)
    assert talk.start(said, task_id="t") == said  # sealed rows are read under any setting
    state = ownership().store.load("t")
    assert state is not None
    assert state.task.goal == said
