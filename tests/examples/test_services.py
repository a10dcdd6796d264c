"""The world and the scripted model that the example and its tests stand on: real processes, real HTTP."""

import json
import os
import signal
import subprocess
import sys
import time
from http.client import HTTPException, IncompleteRead, RemoteDisconnected
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest
from openai import APIConnectionError, AsyncOpenAI, OpenAI

from tracekit.testing.loopback import Fault
from tracekit.testing.model_server import ModelServer, refund_policy
from tracekit.testing.service import call
from tracekit.testing.world import World


def pay(world: World, *, key: str = "k1", amount: str = "99.50") -> dict[str, object]:
    refund: dict[str, object] = call(
        f"{world.url}/refunds",
        method="POST",
        body={"order_id": "A-1024", "amount": amount},
        headers=[("Idempotency-Key", key)],
    )
    return refund


def test_what_was_booked_is_in_the_list_and_found_by_its_key(world: World) -> None:
    refund = pay(world)

    assert world.happened("refund") == [refund]
    assert call(f"{world.url}/refunds?key=k1") == {"found": True, "refund": refund}
    assert call(f"{world.url}/refunds?key=other") == {"found": False}


def test_without_honouring_keys_the_same_key_pays_twice(world: World) -> None:
    pay(world)
    pay(world)

    assert len(world.happened("refund")) == 2


def test_with_honouring_keys_the_same_key_gives_the_first_refund_again(tmp_path: Path) -> None:
    with World(tmp_path / "world.jsonl", honour_keys=True) as world:
        first, second, other = pay(world), pay(world), pay(world, key="k2")

        assert first == second != other
        assert len(world.happened("refund")) == 2


@pytest.mark.parametrize("amount", ["0", "-1", "129.91", "ten"])
def test_an_amount_out_of_range_is_refused_and_nothing_is_booked(world: World, amount: str) -> None:
    with pytest.raises(HTTPError) as refused:
        pay(world, amount=amount)

    assert refused.value.code == 422
    assert world.happened() == []


def test_the_answer_can_be_dropped_after_booking(world: World) -> None:
    world.misbehave(Fault("POST /refunds", "drop", when="after"))

    with pytest.raises(RemoteDisconnected):
        pay(world)

    assert len(world.happened("refund")) == 1
    pay(world, key="k2")
    assert len(world.happened("refund")) == 2


def test_the_connection_can_be_dropped_before_booking(world: World) -> None:
    world.misbehave(Fault("POST /refunds", "drop"))

    with pytest.raises(RemoteDisconnected):
        pay(world)

    assert world.happened() == []


def test_a_rate_limit_tells_how_long_to_wait_and_then_passes(world: World) -> None:
    world.misbehave(Fault("POST /refunds", "answer", status=429, headers={"Retry-After": "2"}))

    with pytest.raises(HTTPError) as limited:
        pay(world)

    assert (limited.value.code, limited.value.headers["Retry-After"]) == (429, "2")
    assert pay(world)["n"] == 1


def test_an_answer_can_be_cut_in_half(world: World) -> None:
    world.misbehave(Fault("GET /orders/*", "cut", when="after", skip=1))

    call(f"{world.url}/orders/A-1024")
    with pytest.raises((IncompleteRead, HTTPException)):
        call(f"{world.url}/orders/A-1024")


def test_an_answer_can_be_held_back_after_booking(world: World) -> None:
    world.misbehave(Fault("POST /refunds", "delay", when="after", seconds=30))

    with pytest.raises(TimeoutError):
        call(f"{world.url}/refunds", method="POST", body={"order_id": "A-1024", "amount": "1"}, timeout_s=0.3)

    assert len(world.happened("refund")) == 1


def test_the_list_survives_the_death_of_the_world(tmp_path: Path) -> None:
    ledger = tmp_path / "world.jsonl"
    world = World(ledger)
    refund = pay(world)
    os.kill(world.pid, signal.SIGKILL)
    world.close()

    with World(ledger) as again:
        assert again.happened() == [refund]
        assert pay(again, key="k2")["refund_id"] == "R-2"


def test_services_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from tracekit.testing.world import World\n"
        "world = World(Path(sys.argv[1])); print(world.pid, flush=True); time.sleep(60)"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "world.jsonl")], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    parent.stdout.close()

    assert gone_within(pid, seconds=10)


def gone_within(pid: int, *, seconds: float) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            # Without a reaper for orphans a dead process stays as a zombie: dead all the same.
            if Path(f"/proc/{pid}/stat").exists() and ") Z " in Path(f"/proc/{pid}/stat").read_text():
                return True
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False


TALK: list[Any] = [
    {"role": "system", "content": "You refund."},
    {"role": "user", "content": "My lamp of order A-1024 came broken."},
]


def said(tool: str, answer: object) -> list[Any]:
    called = {"id": f"c_{tool}", "type": "function", "function": {"name": tool, "arguments": "{}"}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [called]},
        {"role": "tool", "tool_call_id": f"c_{tool}", "content": json.dumps(answer)},
    ]


def test_the_policy_asks_for_each_tool_in_turn_with_values_from_earlier_answers() -> None:
    talk = [*TALK]
    turns = []
    for tool, answer in [
        ("find_order", {"order_id": "A-1024"}),
        ("compute_refund", {"amount": "99.50"}),
        ("refund", {"refund_id": "R-1"}),
        ("notify", {"n": 2}),
    ]:
        turns.append(refund_policy(talk))
        talk += said(tool, answer)

    assert [turn.tool for turn in turns] == ["find_order", "compute_refund", "refund", "notify"]
    assert turns[2].arguments == {"order_id": "A-1024", "amount": "99.50"}
    assert "R-1" in str(refund_policy(talk).text)


def test_a_tool_error_ends_the_talk_with_its_text() -> None:
    turn = refund_policy([*TALK, *said("find_order", {"error": "order A-1024 not found"})])

    assert turn.tool is None
    assert turn.text == "I could not finish: find_order answered order A-1024 not found"


def test_the_openai_client_gets_a_tool_call_and_its_usage(model: ModelServer) -> None:
    with OpenAI(base_url=model.base_url, api_key="none") as client:
        reply = client.chat.completions.create(model="m", messages=TALK)

    calls = reply.choices[0].message.tool_calls
    assert calls is not None
    assert calls[0].function.name == "find_order"  # type: ignore[union-attr]
    assert reply.choices[0].finish_reason == "tool_calls"
    assert reply.usage is not None
    assert reply.usage.total_tokens > 0


async def test_a_stream_adds_up_to_the_whole_reply(model: ModelServer) -> None:
    async with AsyncOpenAI(base_url=model.base_url, api_key="none") as client:
        whole = await client.chat.completions.create(model="m", messages=TALK)
        arguments, names, usage = "", [], None
        async for chunk in await client.chat.completions.create(
            model="m",
            messages=TALK,
            stream=True,
            stream_options={"include_usage": True},
        ):
            usage = chunk.usage or usage
            for choice in chunk.choices:
                for call_ in choice.delta.tool_calls or []:
                    assert call_.function is not None
                    names += [call_.function.name] if call_.function.name else []
                    arguments += call_.function.arguments or ""

    calls = whole.choices[0].message.tool_calls
    assert calls is not None
    assert (names, arguments) == (["find_order"], calls[0].function.arguments)  # type: ignore[union-attr]
    assert usage == whole.usage


def test_a_stream_can_be_cut_off_in_the_middle(model: ModelServer) -> None:
    model.misbehave(Fault("POST /v1/chat/completions", "cut", when="after"))

    with (
        OpenAI(base_url=model.base_url, api_key="none", max_retries=0) as client,
        pytest.raises(APIConnectionError),
    ):
        list(client.chat.completions.create(model="m", messages=TALK, stream=True))


def test_the_same_messages_give_the_same_reply(model: ModelServer) -> None:
    body = {"model": "m", "messages": TALK}
    first = call(f"{model.base_url}/chat/completions", method="POST", body=body)

    assert call(f"{model.base_url}/chat/completions", method="POST", body=body) == first
    assert [row["body"] for row in model.requests("POST /v1/chat")][-2:] == [body, body]


def test_a_bad_request_to_the_model_is_answered_with_what_was_expected(model: ModelServer) -> None:
    with pytest.raises(HTTPError) as refused:
        call(f"{model.base_url}/chat/completions", method="POST", body={"messages": []})

    assert refused.value.code == 400
    assert "messages" in json.load(refused.value)["error"]["message"]
