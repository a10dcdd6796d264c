"""Nothing finished is done again, and a run that differs from its journal stops."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest

import tracekit
from tracekit.durable.api import decide, pending_reviews, plan
from tracekit.durable.fork import fork
from tracekit.durable.owning import ownership
from tracekit.errors import Divergence, TracekitError
from tracekit.model import StepStatus, TaskStatus
from tracekit.store.rows import TaskState
from tracekit.testing.faults import Faults
from tracekit.testing.settable_clock import SettableClock

calls: list[Any] = []
broken: list[Exception] = []


@pytest.fixture(autouse=True)
def nothing_called() -> None:
    calls.clear()
    broken.clear()


def state_of(task_id: str) -> TaskState:
    found = ownership().store.load(task_id, with_bodies=True)
    assert found is not None
    return found


def break_once() -> None:
    if broken:
        raise broken.pop()


@tracekit.tool
def look(what: str) -> str:
    calls.append(("look", what))
    return f"saw {what}"


@tracekit.tool
async def look_async(what: str) -> str:
    calls.append(("look", what))
    await asyncio.sleep(0)
    return f"saw {what}"


def answer(text: str = "done", *tool_calls: tuple[str, Any]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if tool_calls:
        message["tool_calls"] = [
            {
                "id": f"c{number}",
                "type": "function",
                "function": {"name": name, "arguments": raw if isinstance(raw, str) else json.dumps(raw)},
            }
            for number, (name, raw) in enumerate(tool_calls)
        ]
    return {
        "choices": [{"message": message, "finish_reason": "stop"}],
        "model": "scripted",
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "cost": 0.25},
    }


class Model:
    """Answers from a list; keeps what it was sent."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.sent: list[list[dict[str, Any]]] = []

    def __call__(self, messages: list[dict[str, Any]], **settings: Any) -> Any:
        self.sent.append(messages)
        found = self.answers.pop(0)
        if isinstance(found, Exception):
            raise found
        return found


def test_finished_steps_answer_from_the_journal() -> None:
    model = Model(answer("one"), answer("two"))

    @tracekit.task
    def talk(run: tracekit.Run) -> list[str]:
        messages = [{"role": "user", "content": "hello"}]
        first = run.model(model, messages)
        messages.append(first.message)
        looked = look("x")
        break_once()
        return [first.text, looked, run.model(model, messages).text]

    broken.append(RuntimeError("power"))
    with pytest.raises(RuntimeError, match="power"):
        talk.start(task_id="t")

    assert tracekit.resume("t") == ["one", "saw x", "two"]
    assert len(model.sent) == 2
    assert calls == [("look", "x")]
    assert state_of("t").task.tokens_used == 30


def test_only_the_first_new_model_call_is_told_of_the_resume() -> None:
    model = Model(answer("one"), answer("two"), answer("three"))

    @tracekit.task
    def talk(run: tracekit.Run) -> None:
        messages = [{"role": "user", "content": "hello"}]
        run.model(model, messages)
        look("x")
        break_once()
        run.model(model, messages)
        run.model(model, messages)

    broken.append(RuntimeError("power"))
    with pytest.raises(RuntimeError):
        talk.start(task_id="t")
    tracekit.resume("t")

    notices = [[m["content"] for m in sent if m["role"] == "system"] for sent in model.sent]
    assert [len(each) for each in notices] == [0, 1, 0]
    assert "look, done" in notices[1][0]


def test_another_context_at_the_same_place_stops_for_review() -> None:
    model = Model(answer("one"))
    words = ["hello", "other"]

    @tracekit.task
    def talk(run: tracekit.Run) -> None:
        run.model(model, [{"role": "user", "content": words.pop(0)}])
        raise RuntimeError("breaks")

    with pytest.raises(RuntimeError):
        talk.start(task_id="t")

    with pytest.raises(Divergence, match="context"):
        tracekit.resume("t")
    assert len(model.sent) == 1
    assert plan("t").action == "review"


def test_another_kind_of_call_at_the_same_place_stops_for_review() -> None:
    kinds = [lambda run: run.tool(look, "x"), lambda run: run.step("work", lambda: 1)]

    @tracekit.task
    def changes(run: tracekit.Run) -> None:
        kinds.pop(0)(run)
        raise RuntimeError("breaks")

    with pytest.raises(RuntimeError):
        changes.start(task_id="t")
    with pytest.raises(Divergence, match=r"tool look .* got step work"):
        tracekit.resume("t")


def test_time_and_ids_are_the_same_after_a_resume(settable_clock: SettableClock) -> None:
    seen = []

    @tracekit.task
    def stamps(run: tracekit.Run) -> None:
        seen.append((run.now(), run.uuid()))
        look("x")
        settable_clock.move(60)
        break_once()

    broken.append(RuntimeError("power"))
    with pytest.raises(RuntimeError):
        stamps.start(task_id="t")
    tracekit.resume("t")

    assert seen[0] == seen[1]
    assert seen[0][0].tzinfo is not None


def test_an_error_that_the_agent_got_over_is_raised_again_on_replay() -> None:
    tries: list[int] = []

    @tracekit.tool
    def fails() -> None:
        tries.append(1)
        raise KeyError("no such order")

    @tracekit.task
    def copes(run: tracekit.Run) -> str:
        try:
            fails()
        except KeyError as error:
            got = str(error)
        break_once()
        return got

    broken.append(RuntimeError("power"))
    with pytest.raises(RuntimeError):
        copes.start(task_id="t")

    assert tracekit.resume("t") == "'no such order'"
    assert len(tries) == 1


def test_the_step_whose_error_ended_the_task_is_tried_again_on_resume() -> None:
    @tracekit.tool
    def flaky() -> str:
        break_once()
        return "fine"

    @tracekit.task
    def depends(run: tracekit.Run) -> str:
        look("x")
        return flaky()

    broken.append(ValueError("a bug in the tool"))
    with pytest.raises(ValueError, match="a bug"):
        depends.start(task_id="t")
    assert plan("t").break_point == "call 2 (flaky)"

    assert tracekit.resume("t") == "fine"
    assert calls == [("look", "x")]


async def test_the_order_in_which_parallel_work_ends_does_not_matter() -> None:
    turns = [[0.02, 0.0], [0.0, 0.02]]

    @tracekit.tool
    async def slow(name: str) -> str:
        calls.append(name)
        await asyncio.sleep(turns[0][("a", "b").index(name)])
        return name.upper()

    @tracekit.task
    async def both(run: tracekit.Run) -> list[str]:
        async def branch(name: str) -> str:
            await asyncio.sleep(turns[0][("a", "b").index(name)])
            first = await slow(name)
            return first + str(await run.tool(slow, name))

        found = await asyncio.gather(branch("a"), branch("b"))
        break_once()
        return list(found)

    broken.append(RuntimeError("power"))
    with pytest.raises(RuntimeError):
        await both.start_async(task_id="t")
    turns.pop(0)

    from tracekit.durable.api import resume_async

    assert await resume_async("t") == ["AA", "BB"]
    assert sorted(calls) == ["a", "a", "b", "b"]
    assert {row.place for row in state_of("t").steps} == {".1/1", ".1/2", ".2/1", ".2/2"}


async def test_parallel_tool_calls_are_answered_in_the_order_of_the_calls(faults: Faults) -> None:
    @tracekit.tool
    async def first(n: int) -> int:
        return n

    @tracekit.tool
    async def second(n: int) -> int:
        return n

    model = Model(answer("", ("first", {"n": 1}), ("second", {"n": 2})))
    faults.reorder(first, second)

    @tracekit.task
    async def asks(run: tracekit.Run) -> list[Any]:
        reply = await run.model(model, [{"role": "user", "content": "go"}], tools=[first, second])
        return list(await run.tools(reply.tool_calls))

    messages = await asks.start_async(task_id="t")
    assert [(each["tool_call_id"], each["content"]) for each in messages] == [("c0", "1"), ("c1", "2")]


def test_a_result_that_is_not_json_reaches_the_model_as_plain_json_and_the_same_on_replay() -> None:
    @tracekit.tool
    def total() -> dict[str, Any]:
        return {
            "amount": Decimal("99.50"),
            "due": date(2026, 12, 1),
            "took": timedelta(seconds=90),
            "receipt": b"paid",
            "tags": {"b", "a"},
        }

    told: list[str] = []

    @tracekit.task
    def asks(run: tracekit.Run) -> None:
        reply = run.model(model, [{"role": "user", "content": "go"}], tools=[total])
        told.append(run.tools(reply.tool_calls)[0]["content"])
        if len(told) == 1:
            raise KeyError("stop here")

    model = Model(answer("", ("total", {})))

    with pytest.raises(KeyError):
        asks.start(task_id="t")
    tracekit.resume("t")

    plain = '{"amount":"99.50","due":"2026-12-01","took":90.0,"receipt":"cGFpZA==","tags":["a","b"]}'
    assert told == [plain, plain]


async def test_one_unknown_call_of_a_round_does_not_lose_the_other() -> None:
    @tracekit.tool(effect="payment")
    async def lost() -> None:
        raise TimeoutError("no answer")

    model = Model(answer("", ("lost", {}), ("look_async", {"what": "x"})))

    @tracekit.task
    async def asks(run: tracekit.Run) -> list[Any]:
        reply = await run.model(model, [{"role": "user", "content": "go"}], tools=[lost, look_async])
        return list(await run.tools(reply.tool_calls))

    with pytest.raises(tracekit.RequiresReview) as stop:
        await asks.start_async(task_id="t")
    decide(stop.value.review_id, "done", by="ann", result="it went through")
    from tracekit.durable.api import resume_async

    messages = await resume_async("t")
    assert [each["content"] for each in messages] == ["it went through", "saw x"]
    assert calls == [("look", "x")]


def test_bad_arguments_are_shown_to_the_model_before_anything_happens() -> None:
    model = Model(answer("", ("look", '{"wat": 1}')), answer("", ("look", {"what": "x"})), answer("done"))

    @tracekit.task
    def talk(run: tracekit.Run) -> Any:
        messages = [{"role": "user", "content": "go"}]
        while True:
            reply = run.model(model, messages, tools=[look])
            messages.append(reply.message)
            if not reply.tool_calls:
                return messages
            messages += run.tools(reply.tool_calls)

    messages = talk.start(task_id="t")

    assert "do not fit its schema" in messages[2]["content"]
    assert messages[4]["content"] == "saw x"
    assert calls == [("look", "x")]


def test_second_inferences_have_a_limit_of_their_own() -> None:
    model = Model(*[answer("", ("look", '{"wat": 1}')) for _ in range(3)])

    @tracekit.task(max_reinfers=2)
    def talk(run: tracekit.Run) -> None:
        messages = [{"role": "user", "content": "go"}]
        while True:
            reply = run.model(model, messages, tools=[look])
            messages += [reply.message, *run.tools(reply.tool_calls)]

    with pytest.raises(tracekit.RequiresReview, match="bad arguments 3 times"):
        talk.start(task_id="t")
    assert [row.reinfers for row in state_of("t").steps if row.name == "look"] == [1, 2, 3]


@pytest.mark.parametrize("lenient", [True, False])
def test_arguments_are_read_leniently_only_where_the_task_allows_it(lenient: bool) -> None:
    model = Model(answer("", ("look", '```json\n{"what": "x",}\n```')), answer("done"))

    @tracekit.task(lenient=lenient)
    def talk(run: tracekit.Run) -> Any:
        reply = run.model(model, [{"role": "user", "content": "go"}], tools=[look])
        return run.tools(reply.tool_calls)[0]["content"]

    assert ("saw x" in talk.start(task_id="t")) is lenient


def test_a_loop_of_equal_calls_stops_for_review() -> None:
    model = Model(*[answer("", ("look", {"what": "x"})) for _ in range(9)])

    @tracekit.task(max_repeats=3)
    def talk(run: tracekit.Run) -> None:
        messages = [{"role": "user", "content": "go"}]
        while True:
            reply = run.model(model, messages, tools=[look])
            messages += [reply.message, *run.tools(reply.tool_calls)]

    with pytest.raises(tracekit.RequiresReview, match="repeated"):
        talk.start(task_id="t")
    assert len(calls) == 4


def test_tokens_are_limited_over_all_attempts_and_a_person_may_allow_more() -> None:
    model = Model(*[answer(str(n)) for n in range(4)])

    @tracekit.task(tokens=40)
    def talk(run: tracekit.Run) -> str:
        return "".join(run.model(model, [{"role": "user", "content": str(n)}]).text for n in range(4))

    with pytest.raises(tracekit.RequiresReview, match="45 of 40 tokens") as stop:
        talk.start(task_id="t")
    decide(stop.value.review_id, "retry", by="ann")

    assert tracekit.resume("t") == "0123"


def test_a_model_that_is_away_is_asked_again_with_waits(settable_clock: SettableClock) -> None:
    model = Model(ConnectionRefusedError(111, "refused"), TimeoutError("slow"), answer("at last"))

    @tracekit.task
    def talk(run: tracekit.Run) -> str:
        return str(run.model(model, [{"role": "user", "content": "go"}]).text)

    assert talk.start(task_id="t") == "at last"
    assert [int(each) for each in settable_clock.slept_s] in ([1, 2], [1, 3]) or len(
        settable_clock.slept_s
    ) == 2
    assert state_of("t").steps[0].tries == 3


def test_a_context_that_is_too_long_is_rebuilt_in_layers_and_marked() -> None:
    class TooLong(Exception):
        status_code = 400

    model = Model(TooLong("context_length_exceeded"), answer("short enough"))
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": "goal"},
    ]
    for number in range(8):
        call = {"id": f"c{number}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": f"result {number}"},
        ]

    @tracekit.task
    def talk(run: tracekit.Run) -> str:
        return str(run.model(model, messages).text)

    assert talk.start(task_id="t") == "short enough"
    sent = model.sent[1]
    assert [each["content"] for each in sent[:2]] == ["be kind", "goal"]
    assert "earlier messages are replaced by this summary" in sent[2]["content"]
    assert [each["content"] for each in sent if each["role"] == "tool"] == [
        f"result {n}" for n in range(3, 8)
    ]
    assert "context.summary" in [row.name for row in state_of("t").steps]


def test_a_question_to_a_person_waits_in_the_store_and_is_answered_once() -> None:
    @tracekit.task
    def asks(run: tracekit.Run) -> str:
        return f"{run.ask('Pay it?', ['yes', 'no'])}, then {look('x')}"

    with pytest.raises(tracekit.RequiresReview, match=r"Pay it\?"):
        asks.start(task_id="t")
    (review,) = pending_reviews(task_id="t")
    decide(review.review_id, "done", by="ann", result="yes")

    assert tracekit.resume("t") == "yes, then saw x"
    assert pending_reviews() == []


def test_a_thread_without_a_branch_is_refused_and_one_with_a_name_finds_its_calls_again() -> None:
    refused: list[str] = []

    @tracekit.task
    def threads(run: tracekit.Run) -> list[str]:
        found: dict[str, str] = {}

        def bare() -> None:
            try:
                run.tool(look, "bare")
            except TracekitError as error:
                refused.append(error.code)

        def named(name: str) -> None:
            with run.branch(name) as branch:
                found[name] = branch.tool(look, name)

        workers = [threading.Thread(target=bare), *(threading.Thread(target=named, args=(n,)) for n in "ab")]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        break_once()
        return [found["a"], found["b"]]

    broken.append(RuntimeError("power"))
    with pytest.raises(RuntimeError):
        threads.start(task_id="t")

    assert tracekit.resume("t") == ["saw a", "saw b"]
    assert sorted(calls) == [("look", "a"), ("look", "b")]
    assert refused == ["task.unnamed_thread"] * 2


def test_a_fork_has_everything_before_its_step_and_goes_on_anew() -> None:
    @tracekit.task
    def three(run: tracekit.Run) -> list[str]:
        return [look("a"), look("b"), look("c")]

    three.start(task_id="t")
    calls.clear()

    assert fork("t", at="2", new_id="t2", run=True) == ["saw a", "saw b", "saw c"]
    assert calls == [("look", "b"), ("look", "c")]
    assert state_of("t2").task.parent_task == "t"


def test_changed_code_asks_first_where_the_task_wants_it() -> None:
    def make(body: str) -> Any:
        space: dict[str, Any] = {"look": look, "break_once": break_once}
        exec(compile(body, "<test>", "exec"), space)  # two versions of one function
        space["agent"].__module__, space["agent"].__qualname__ = "somewhere", "agent"
        return tracekit.task(on_code_change="review", name="somewhere:agent")(space["agent"])

    broken.append(RuntimeError("power"))
    with pytest.raises(RuntimeError):
        make("def agent(run):\n    look('a')\n    break_once()\n    return 1").start(task_id="t")
    make("def agent(run):\n    look('a')\n    break_once()\n    return 2 + look.__len__() if 0 else 2")
    decide(pending_reviews(task_id="t")[0].review_id, "retry", by="ann")

    with pytest.raises(tracekit.RequiresReview, match="source of the task function"):
        tracekit.resume("t")
    assert tracekit.resume("t") == 2  # resuming by hand is the answer to that question


def test_a_note_and_a_plan_stand_in_the_store() -> None:
    @tracekit.task
    def plans(run: tracekit.Run) -> None:
        run.plan(["a", {"name": "b", "depends_on": ["a"], "critical": False}])
        run.note(order="A-1")
        look("x")

    plans.start(task_id="t")
    state = state_of("t")
    assert [row["name"] for row in json.loads(state.task.plan or "[]")] == ["a", "b"]
    assert [row.kind for row in ownership().store.events("t") if row.kind in ("note", "plan")] == [
        "plan",
        "note",
    ]


def test_a_plan_that_depends_on_an_unknown_step_is_refused() -> None:
    @tracekit.task
    def plans(run: tracekit.Run) -> None:
        run.plan([{"name": "b", "depends_on": ["a"]}])

    with pytest.raises(TracekitError, match="depends on"):
        plans.start(task_id="t")


async def test_cancelling_an_effect_leaves_an_honest_unknown() -> None:
    started = asyncio.Event()

    @tracekit.tool(effect="payment")
    async def hangs() -> None:
        started.set()
        await asyncio.sleep(60)

    @tracekit.task
    async def pays(run: tracekit.Run) -> None:
        await run.tool(hangs)

    running = asyncio.create_task(pays.start_async(task_id="t"))
    await started.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    state = state_of("t")
    assert [row.status.value for row in state.effects] == ["executed_unknown"]
    assert (state.task.status, state.task.owner) == (TaskStatus.RUNNING, None)
    assert state.steps[0].status is StepStatus.RUNNING


def test_a_tool_that_is_too_slow_is_left_and_its_late_answer_is_on_record() -> None:
    go = threading.Event()
    ended = threading.Event()

    @tracekit.tool(effect="payment", timeout_s=0.05)
    def slow() -> str:
        go.wait(10)
        ended.set()
        return "late"

    @tracekit.task
    def pays(run: tracekit.Run) -> None:
        try:
            run.tool(slow)
        finally:
            go.set()
            ended.wait(10)
            for _ in range(200):
                if any(row.kind == "late_answer" for row in ownership().store.events("t")):
                    break
                threading.Event().wait(0.01)

    with pytest.raises(tracekit.RequiresReview):
        pays.start(task_id="t")
    assert "late_answer" in [row.kind for row in ownership().store.events("t")]


def test_every_message_of_a_talk_is_in_the_store_once_and_its_lists_can_be_followed() -> None:
    from tracekit.durable.manifest import message_hashes
    from tracekit.snapshot import decode

    model = Model(*[answer(str(number)) for number in range(6)])

    @tracekit.task
    def talk(run: tracekit.Run) -> None:
        messages: list[dict[str, Any]] = [{"role": "user", "content": "hello"}]
        for number in range(6):
            messages.append(run.model(model, messages).message)
            messages.append({"role": "user", "content": f"go on {number}"})

    talk.start(task_id="t")

    state = state_of("t")
    for row, sent in zip(state.steps, model.sent, strict=True):
        hashes = message_hashes(str(row.input), dict(state.blobs))
        assert [decode(state.blobs[each]) for each in hashes] == sent


def test_a_generator_is_refused_as_a_task() -> None:
    def pages(run: tracekit.Run) -> Iterator[int]:
        yield 1

    with pytest.raises(TracekitError, match=r"got the generator .*pages"):
        tracekit.task(pages)


def test_a_call_that_comes_after_the_task_has_ended_is_refused_with_what_to_do() -> None:
    kept: list[tracekit.Run] = []

    @tracekit.task
    def job(run: tracekit.Run) -> str:
        kept.append(run)
        return "done"

    job.start(task_id="t")

    with pytest.raises(TracekitError, match="after this attempt at task 't' had ended; nothing was sent"):
        kept[0].tool(look, "x")
    assert calls == []
