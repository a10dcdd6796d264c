from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tracekit
from tracekit import config
from tracekit.errors import TracekitError
from tracekit.model import ToolCall, Usage
from tracekit.recording import setup
from tracekit.recording.recorder import install, recorder
from tracekit.recording.spans import StepRef

Steps = Callable[[], list[dict[str, Any]]]


def test_a_step_is_in_the_log_before_it_ends(steps: Steps) -> None:
    recorder().begin("tool", "refund", input={"order_id": "A-1024"})

    (step,) = steps()
    assert step["status"] == "running"
    assert step["input_snapshot"] == {"order_id": "A-1024"}
    assert "finished_at" not in step


def test_a_finished_step_tells_everything_it_was_given(steps: Steps) -> None:
    step = recorder().begin(
        "model", "ask", trace_id="ab" * 16, task_id="ticket-77", attempt=2, model="m-1", tries=2, reinfers=1,
        agent="planner", messages=[{"role": "user", "content": "hi"}], depends_on=["0" * 16],
    )  # fmt: skip
    step.finish(
        "ok", raw="text", usage=Usage(3, 4, 0.5), finish_reason="tool_calls", checkpoint="before_tool",
        asked=[ToolCall("c1", "refund", '{"a": 1}')], effect={"risk": "payment", "key": "k"}, attributes={"x": 1},
    )  # fmt: skip

    (told,) = steps()
    assert told["trace_id"] == "ab" * 16
    assert told["parent_step_id"] is None
    assert (told["task_id"], told["attempt"], told["tries"], told["reinfers"]) == ("ticket-77", 2, 2, 1)
    assert (told["model"], told["agent"], told["model_raw_output"]) == ("m-1", "planner", "text")
    assert told["usage"] == {"input_tokens": 3, "output_tokens": 4, "cost": 0.5}
    assert told["asked"] == [{"call_id": "c1", "name": "refund", "arguments": '{"a": 1}'}]
    assert told["effect"] == {"risk": "payment", "key": "k"}
    assert (told["checkpoint"], told["finish_reason"]) == ("before_tool", "tool_calls")
    assert told["attributes"] == {"x": 1}
    assert told["context"]["count"] == 1
    assert told["duration_ms"] >= 0


def test_a_second_finish_does_nothing(steps: Steps) -> None:
    step = recorder().begin("step", "load")
    step.finish("ok", output=1)
    step.finish("error", output=2)

    (told,) = steps()
    assert (told["status"], told["output_snapshot"]) == ("ok", 1)


def test_a_step_hangs_below_a_step_of_another_process(steps: Steps) -> None:
    recorder().begin("tool", "t", parent=StepRef("cd" * 16, "ef" * 8)).finish()

    (told,) = steps()
    assert (told["trace_id"], told["parent_step_id"]) == ("cd" * 16, "ef" * 8)


def test_a_step_can_have_the_id_that_was_promised_for_it(steps: Steps) -> None:
    step = recorder().begin("task", "t", trace_id="ab" * 16, step_id="12" * 8, parent=None)

    assert step.ref == StepRef("ab" * 16, "12" * 8)
    assert steps()[0]["step_id"] == "12" * 8


def test_steps_are_numbered_within_their_trace(steps: Steps) -> None:
    for trace in ("aa" * 16, "bb" * 16, "aa" * 16):
        recorder().begin("step", "s", trace_id=trace, parent=None).finish()

    assert [(s["trace_id"][:2], s["seq"]) for s in steps()] == [("aa", 1), ("bb", 1), ("aa", 2)]


def test_an_error_is_told_with_its_class_and_stack_and_passes_through(steps: Steps) -> None:
    with pytest.raises(KeyError), tracekit.step("load"):
        {}["order"]

    (told,) = steps()
    assert (told["status"], told["error_type"], told["error_message"]) == ("error", "KeyError", "'order'")
    assert "in test_an_error_is_told" in told["error_stack"]


def test_a_decorated_function_tells_arguments_and_result(steps: Steps) -> None:
    @tracekit.step()
    def add(a: int, *, b: int = 2) -> int:
        return a + b

    assert add(1, b=5) == 6
    (told,) = steps()
    assert told["name"].endswith("add")
    assert (told["input_snapshot"], told["output_snapshot"]) == ({"a": 1, "b": 5}, 6)


async def test_a_decorated_coroutine_is_the_parent_of_what_it_awaits(steps: Steps) -> None:
    @tracekit.step("inner")
    async def inner() -> str:
        await asyncio.sleep(0)
        return "done"

    @tracekit.step("outer")
    async def outer() -> str:
        return await inner()

    assert await outer() == "done"
    outside, inside = steps()
    assert inside["parent_step_id"] == outside["step_id"]


def test_a_generator_is_current_only_while_its_own_code_runs(steps: Steps) -> None:
    @tracekit.step("numbers")
    def numbers() -> Iterator[int]:
        with tracekit.step("inside"):
            yield 1
        yield 2

    for _ in numbers():
        with tracekit.step("outside"):
            pass

    told = {s["name"]: s for s in steps()}
    assert told["inside"]["parent_step_id"] == told["numbers"]["step_id"]
    assert [s["parent_step_id"] for s in steps() if s["name"] == "outside"] == [None, None]
    assert told["numbers"]["attributes"]["tracekit.items"] == 2


def test_a_generator_gives_on_what_is_sent_thrown_and_returned(steps: Steps) -> None:
    @tracekit.step("echo")
    def echo() -> Iterator[Any]:
        try:
            got = yield "ready"
            yield got
        except ValueError as error:
            yield f"caught {error}"
        return "end"

    generator = echo()
    assert next(generator) == "ready"
    assert generator.send("sent") == "sent"
    assert generator.throw(ValueError("x")) == "caught x"
    with pytest.raises(StopIteration) as stop:
        next(generator)
    assert stop.value.value == "end"
    assert steps()[0]["output_snapshot"] == "end"


async def test_a_generator_closed_in_another_task_is_abandoned_once_and_says_nothing(
    steps: Steps, caplog: pytest.LogCaptureFixture
) -> None:
    @tracekit.step("stream")
    async def stream() -> AsyncIterator[int]:
        while True:
            with tracekit.step("chunk"):
                yield 1

    generator = stream()
    await anext(generator)
    await asyncio.create_task(generator.aclose())
    with tracekit.step("after"):
        pass

    told = {s["name"]: s for s in steps()}
    assert told["stream"]["status"] == "abandoned"
    assert told["chunk"]["status"] == "abandoned"
    assert told["after"]["parent_step_id"] is None
    assert not caplog.records


def test_a_generator_dropped_half_way_is_abandoned(steps: Steps) -> None:
    @tracekit.step("numbers")
    def numbers() -> Iterator[int]:
        yield from range(10)

    next(numbers())
    gc.collect()

    assert steps()[0]["status"] == "abandoned"


async def test_gathered_steps_and_task_groups_hang_below_their_own_parents(steps: Steps) -> None:
    async def tool(name: str) -> None:
        with tracekit.step(name, kind="tool"):
            await asyncio.sleep(0)
            with tracekit.step(f"in {name}"):
                await asyncio.sleep(0)

    async def run(name: str) -> None:
        with tracekit.step(name):
            await asyncio.gather(*(tool(f"{name}{i}") for i in range(5)))
            async with asyncio.TaskGroup() as group:
                for i in range(5, 8):
                    group.create_task(tool(f"{name}{i}"))

    await asyncio.gather(run("a"), run("b"))

    told = {s["name"]: s for s in steps()}
    assert len(told) == 2 + 2 * 8 * 2
    for name in "ab":
        assert told[name]["parent_step_id"] is None
        for i in range(8):
            assert told[f"{name}{i}"]["parent_step_id"] == told[name]["step_id"]
            assert told[f"in {name}{i}"]["parent_step_id"] == told[f"{name}{i}"]["step_id"]


def test_a_step_finished_before_init_or_without_it_is_no_error() -> None:
    step = recorder().begin("step", "early")
    with step.active():
        recorder().begin("step", "below").finish()
    step.finish()

    assert len(step.ref.trace_id) == 32


def test_a_context_is_written_against_the_one_before(
    home: Path, lines_of: Callable[[Path], list[dict[str, Any]]]
) -> None:
    messages = [{"role": "user", "content": str(i)} for i in range(3)]
    with tracekit.step("run"):
        for count in (2, 3):
            recorder().begin("model", "ask", messages=messages[:count]).finish()
        recorder().begin("model", "ask", messages=[messages[0], messages[2]]).finish()

    lines = lines_of(home)
    assert [line["message"]["content"] for line in lines if line["record"] == "message"] == ["0", "1", "2"]
    first, second, third = (line["context"] for line in lines if "context" in line)
    assert (first["base"], first["keep"], len(first["hashes"])) == (None, 0, 2)
    assert (second["base"], second["keep"], len(second["hashes"])) == (first["digest"], 2, 1)
    assert (third["keep"], len(third["hashes"])) == (1, 1)


def test_a_bad_setting_is_told_by_init_and_not_by_the_first_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEKIT_BLOB_BYTES", "plenty")
    config.reset()
    install(None)
    recorder().begin("step", "s").finish()

    with pytest.raises(TracekitError) as caught:
        tracekit.init()
    assert caught.value.code == "config.bad_value"
    config.reset()


async def test_a_step_around_whatever_has_to_be_awaited_holds_what_came_of_it(steps: Steps) -> None:
    @tracekit.tool
    async def double(number: int) -> int:
        return 2 * number

    class Adder:
        async def __call__(self, number: int) -> int:
            return number + 1

    assert await tracekit.step("around a tool")(double)(4) == 8
    assert await tracekit.step("around an object")(Adder())(4) == 5

    outer, inner, other = steps()
    assert [step["output_snapshot"] for step in (outer, inner, other)] == [8, 8, 5]
    assert inner["parent_step_id"] == outer["step_id"]


def test_an_unknown_option_is_refused_by_name() -> None:
    with pytest.raises(TracekitError) as caught:
        tracekit.init(servise="x")
    assert caught.value.code == "config.unknown_setting"
    assert "servise" in str(caught.value)


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("secret_keys", "session", "a list of names"),
        ("redact", "no", "True or False"),
        ("rotate_bytes", -1, "a whole number above 0"),
        ("blob_bytes", True, "a whole number above 0"),
        ("exit_budget_s", float("nan"), "a number of seconds"),
        ("home", 5, "the path of a folder"),
        ("service", 5, "a text"),
    ],
)
def test_an_option_of_another_kind_is_refused_in_words(option: str, value: Any, expected: str) -> None:
    config.reset()
    with pytest.raises(TracekitError, match=f"expected {expected}.*{option}") as refused:
        setup.init(**{option: value})

    assert refused.value.code == "config.bad_value"


def test_an_agent_that_changes_its_folder_keeps_one_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines_of: Callable[[Path], list[dict[str, Any]]]
) -> None:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path)
    config.reset()
    found = setup.init(home="home", rotate_bytes=1000, blob_bytes=100)
    try:
        with tracekit.step("before"):
            monkeypatch.chdir(tmp_path / "work")
        with tracekit.step("after") as after:
            after.result({"password": "hunter2-hunter2", "page": "x" * 500})
    finally:
        setup.shutdown()
        config.reset()

    assert found.store_url == f"sqlite:{tmp_path}/home/state.db"
    assert list((tmp_path / "work").iterdir()) == []
    assert {line["name"] for line in lines_of(tmp_path / "home") if line["record"] == "step"} == {
        "before",
        "after",
    }
    assert {path.name for path in (tmp_path / "home").iterdir()} == {"traces", "blobs", "key"}


def test_a_lost_step_is_ended_by_who_settled_it(steps: Steps) -> None:
    lost = recorder().begin(
        "tool", "refund", task_id="t", input={"a": 1}, effect={"key": "k", "status": "pending"}
    )
    recorder().end_lost(
        lost.ref.trace_id, lost.ref.step_id, "unknown", effect={"key": "k", "status": "executed_unknown"}
    )

    (told,) = steps()
    assert (told["status"], told["effect"]["status"]) == ("unknown", "executed_unknown")
    assert told["input_snapshot"] == {"a": 1}
    assert told["attributes"]["tracekit.settled_by"] == told["process_id"]


def test_a_context_that_is_sent_again_is_told_in_the_same_words(
    home: Path, lines_of: Callable[[Path], list[dict[str, Any]]]
) -> None:
    messages = [{"role": "user", "content": str(i)} for i in range(3)]
    with tracekit.step("run"):
        for count in (2, 3, 3, 2):
            recorder().begin("model", "ask", messages=messages[:count]).finish()

    first, second, third, fourth = (line["context"] for line in lines_of(home) if "context" in line)
    assert second == third != first == fourth
    assert second["base"] == first["digest"]


def test_agents_that_talk_in_turn_each_go_on_from_their_own_context(
    home: Path, lines_of: Callable[[Path], list[dict[str, Any]]]
) -> None:
    talks: dict[str, list[dict[str, str]]] = {"a": [], "b": []}
    with tracekit.step("run"):
        for turn in range(4):
            for name, talk in talks.items():
                talk.append({"role": "user", "content": f"{name}{turn}"})
                recorder().begin("model", "ask", messages=talk, agent=name).finish()

    contexts = [line["context"] for line in lines_of(home) if "context" in line]
    assert [len(context["hashes"]) for context in contexts] == [1] * 8
    assert [context["keep"] for context in contexts] == [0, 0, 1, 1, 2, 2, 3, 3]
