from __future__ import annotations

import asyncio
import copy
import gc
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

import tracekit
from tracekit.recording.carry import carry
from tracekit.recording.recorder import recorder
from tracekit.recording.stream import AsyncRecordedStream, RecordedStream

Steps = Callable[[], list[dict[str, Any]]]


def words() -> Iterator[str]:
    yield from ("The ", "re", "fund ", "is ", "paid")


async def words_async() -> AsyncIterator[str]:
    for word in words():
        yield word


def test_a_stream_read_to_its_end_keeps_the_exact_text_and_the_time_to_its_first_chunk(steps: Steps) -> None:
    stream = RecordedStream(words(), recorder().begin("model", "ask"))

    assert list(stream) == list(words())
    (step,) = steps()
    assert (step["status"], step["model_raw_output"]) == ("ok", "The refund is paid")
    assert step["attributes"]["tracekit.chunks"] == 5
    assert step["attributes"]["gen_ai.response.time_to_first_chunk"] >= 0


@pytest.mark.parametrize("leave", ["close", "with", "drop"])
def test_a_stream_left_early_is_abandoned_once_with_what_came(steps: Steps, leave: str) -> None:
    stream: Any = RecordedStream(words(), recorder().begin("model", "ask"))
    next(stream), next(stream)
    if leave == "close":
        stream.close()
    elif leave == "with":
        with stream:
            pass
    del stream
    gc.collect()

    (step,) = steps()
    assert (step["status"], step["model_raw_output"]) == ("abandoned", "The re")


def test_a_stream_that_breaks_is_an_error_with_what_came(steps: Steps) -> None:
    def broken() -> Iterator[str]:
        yield "half"
        raise ConnectionResetError("peer")

    stream = RecordedStream(broken(), recorder().begin("model", "ask"))
    with pytest.raises(ConnectionResetError):
        list(stream)

    (step,) = steps()
    assert (step["status"], step["error_type"], step["model_raw_output"]) == (
        "error",
        "ConnectionResetError",
        "half",
    )


async def test_an_async_stream_is_recorded_alike_and_can_be_left_in_another_task(steps: Steps) -> None:
    whole = AsyncRecordedStream(words_async(), recorder().begin("model", "whole"))
    assert [chunk async for chunk in whole] == list(words())
    left = AsyncRecordedStream(words_async(), recorder().begin("model", "left"))
    await anext(left)
    await asyncio.create_task(left.close())

    told = {s["name"]: s for s in steps()}
    assert (told["whole"]["status"], told["whole"]["model_raw_output"]) == ("ok", "The refund is paid")
    assert (told["left"]["status"], told["left"]["model_raw_output"]) == ("abandoned", "The ")


def test_a_gatherer_that_fails_does_not_take_the_chunks_from_the_reader(steps: Steps) -> None:
    class Bad:
        def add(self, chunk: object) -> None:
            raise ValueError("unknown chunk")

        def fields(self) -> dict[str, Any]:
            return {}

    assert list(RecordedStream(words(), recorder().begin("model", "ask"), gather=Bad())) == list(words())
    assert "unknown chunk" in steps()[0]["attributes"]["tracekit.gather_error"]


def test_a_recorded_stream_gives_on_what_the_client_s_stream_has(home: Path) -> None:
    class Stream:
        response = "the response"

        def __iter__(self) -> Iterator[str]:
            return words()

    assert RecordedStream(Stream(), recorder().begin("model", "ask")).response == "the response"


def tool(name: str) -> str:
    with tracekit.step(name, kind="tool"):
        return name


def test_threads_and_pools_hang_below_the_step_that_carried_into_them(steps: Steps) -> None:
    with tracekit.step("run"):
        with ThreadPoolExecutor(3) as pool:
            list(pool.map(carry(tool), [f"t{i}" for i in range(5)]))
        thread = threading.Thread(target=carry(tool), args=("thread",))
        thread.start()
        thread.join()

    told = {s["name"]: s for s in steps()}
    assert len(told) == 7
    for name in ("t0", "t1", "t2", "t3", "t4", "thread"):
        assert told[name]["parent_step_id"] == told["run"]["step_id"]
        assert told[name]["trace_id"] == told["run"]["trace_id"]


async def test_two_runs_in_one_loop_keep_their_tools_apart_through_threads_and_processes(
    steps: Steps,
) -> None:
    loop = asyncio.get_running_loop()
    with (
        ThreadPoolExecutor(4) as threads,
        ProcessPoolExecutor(2, mp_context=get_context("fork")) as processes,
    ):

        async def run(name: str) -> None:
            with tracekit.step(name):
                await asyncio.gather(
                    *(loop.run_in_executor(threads, carry(tool), f"{name}-thread-{i}") for i in range(5)),
                    *(loop.run_in_executor(processes, carry(tool), f"{name}-process-{i}") for i in range(5)),
                    *(asyncio.to_thread(tool, f"{name}-to-thread-{i}") for i in range(5)),
                )

        await asyncio.gather(run("a"), run("b"))

    told = {s["name"]: s for s in steps()}
    assert len(told) == 2 + 2 * 15
    for name, step in told.items():
        if len(name) > 1:
            assert step["parent_step_id"] == told[name[0]]["step_id"]
            assert step["trace_id"] == told[name[0]]["trace_id"]
    processes_seen = {s["process_id"] for name, s in told.items() if "-process-" in name}
    assert told["a"]["process_id"] not in processes_seen


def test_a_thread_that_nothing_was_carried_into_is_marked_and_not_guessed(steps: Steps) -> None:
    with tracekit.step("run"):
        thread = threading.Thread(target=tool, args=("stray",))
        thread.start()
        thread.join()

    told = {s["name"]: s for s in steps()}
    assert told["stray"]["parent_step_id"] is None
    assert told["stray"]["attributes"]["tracekit.no_context"] == "thread"
    assert "attributes" not in told["run"]


def test_a_stream_takes_its_source_along_when_its_block_ends(steps: Steps) -> None:
    ended: list[str] = []

    def source() -> Iterator[str]:
        try:
            yield from words()
        finally:
            ended.append("closed")

    with RecordedStream(source(), recorder().begin("model", "ask")) as stream:
        next(stream)

    assert ended == ["closed"]
    (step,) = steps()
    assert step["status"] == "abandoned"


async def test_an_async_stream_takes_its_source_along_when_its_block_ends(steps: Steps) -> None:
    ended: list[str] = []

    async def source() -> AsyncIterator[str]:
        try:
            yield "half"
            yield "whole"
        finally:
            ended.append("closed")

    async with AsyncRecordedStream(source(), recorder().begin("model", "ask")) as stream:
        await anext(stream)

    assert ended == ["closed"]
    (step,) = steps()
    assert step["status"] == "abandoned"


def test_a_client_that_takes_an_error_at_the_end_of_its_block_still_does(steps: Steps) -> None:
    class Forgiving(list[str]):
        def __enter__(self) -> Forgiving:
            return self

        def __exit__(self, *error: object) -> bool:
            return True

    with RecordedStream(Forgiving(["a"]), recorder().begin("model", "ask")):
        raise ValueError("the reader broke")

    (step,) = steps()
    assert (step["status"], step["error_message"]) == ("error", "the reader broke")


def test_a_stream_is_not_copied(home: Path) -> None:
    stream = RecordedStream(words(), recorder().begin("model", "ask"))

    with pytest.raises(TypeError, match="it is read once"):
        copy.copy(stream)


def test_a_generator_whose_cleaning_up_fails_ends_its_step(steps: Steps) -> None:
    @tracekit.step("stubborn")
    def stubborn() -> Iterator[int]:
        try:
            yield 1
        finally:
            yield 2

    running = stubborn()
    next(running)
    with pytest.raises(RuntimeError, match="ignored GeneratorExit"):
        running.close()  # type: ignore[attr-defined]

    (step,) = steps()
    assert (step["status"], step["error_type"]) == ("error", "RuntimeError")


async def test_an_async_generator_whose_cleaning_up_fails_ends_its_step(steps: Steps) -> None:
    @tracekit.step("stubborn")
    async def stubborn() -> AsyncIterator[int]:
        try:
            yield 1
        finally:
            raise OSError("the connection would not close")

    running = stubborn()
    await anext(running)
    with pytest.raises(OSError, match="would not close"):
        await running.aclose()  # type: ignore[attr-defined]

    (step,) = steps()
    assert (step["status"], step["error_type"]) == ("error", "OSError")


def test_a_step_used_twice_does_not_show_the_result_of_the_first_time_again(steps: Steps) -> None:
    load = tracekit.step("load")
    with load as first:
        first.result("A-1024")
    with load:
        pass

    one, two = steps()
    assert one["output_snapshot"] == "A-1024"
    assert "output_snapshot" not in two


def test_a_step_without_parentheses_says_how_to_write_it() -> None:
    with pytest.raises(tracekit.TracekitError, match=r"write @step\(\)"):

        @tracekit.step  # type: ignore[arg-type]
        def load() -> None: ...
