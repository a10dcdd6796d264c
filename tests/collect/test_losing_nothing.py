"""What a client was told is in the log, is in the log: when the disk is full, when the receiver is killed."""

from __future__ import annotations

import json
import resource
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tracekit import config
from tracekit.collect.inlet import Inlet
from tracekit.recording.foreign import ForeignSpan


def messages(text: str) -> list[dict[str, Any]]:
    sent = json.dumps([{"role": "user", "parts": [{"type": "text", "content": text}]}])
    return [
        {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
        {"key": "gen_ai.input.messages", "value": {"stringValue": sent}},
    ]


def test_a_full_disk_is_told_as_come_again_and_nothing_of_the_batch_is_written(
    receive: Any, make: Any
) -> None:
    limit = (64_000, 64_000)
    receiver = receive(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit))
    small = make.span(1, attributes=messages("hello"))
    large = [
        make.span(number, attributes=[{"key": "t", "value": {"stringValue": "x" * 9_000}}])
        for number in range(2, 20)
    ]

    status, headers, answer = receiver.post("/v1/traces", make.request(small, *large))

    assert status == 503
    assert int(headers["Retry-After"]) > 0
    assert answer["message"]
    assert receiver.steps() == []
    # a smaller batch fits, and its message is there though it was named before
    assert receiver.post("/v1/traces", make.request(small))[0] == 200
    assert [line["record"] for line in receiver.lines()] == ["process", "message", "step"]
    assert receiver.end()["refused_batches"] == 1


def test_what_was_answered_is_there_after_a_kill(receive: Any, make: Any) -> None:
    receiver = receive()
    for number in range(1, 51):
        assert receiver.post("/v1/traces", make.request(make.span(number)))[0] == 200

    receiver.process.kill()
    receiver.process.wait()

    assert len(receiver.steps()) == 50


def test_many_clients_at_once_lose_and_double_nothing(receive: Any, make: Any) -> None:
    receiver = receive()

    def client(first: int) -> None:
        for number in range(first, first + 200, 20):
            batch = [make.span(each + 1) for each in range(number, number + 40)]  # each span twice
            assert receiver.post("/v1/traces", make.request(*batch), packed=True)[0] == 200

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(client, (0, 1_000, 2_000, 3_000)))

    ids = [step["step_id"] for step in receiver.steps()]
    assert len(ids) == len(set(ids)) == 4 * 220


def span(number: int) -> ForeignSpan:
    return ForeignSpan("1" * 32, f"{number:016x}", None, "s", start_ns=5, end_ns=6)


def test_only_the_last_spans_are_remembered(tmp_path: Any) -> None:
    config.reset()
    inlet = Inlet(config.configure(home=tmp_path, service="c"), remembered_spans=100)

    for number in range(1, 1_001):
        inlet.take([span(number)])
    inlet.take([span(1_000), span(1)])

    assert inlet.counts["duplicates"] == 1
    assert inlet.counts["spans"] == 1_001
    assert len(inlet._seen) == 100
    config.reset()


def test_of_two_spans_of_one_call_the_outer_is_a_plain_step(tmp_path: Any) -> None:
    config.reset()
    inlet = Inlet(config.configure(home=tmp_path, service="c"))
    model = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 7}
    inner = ForeignSpan("1" * 32, "2" * 16, "3" * 16, "chat m", attributes=model, start_ns=5, end_ns=6)
    outer = ForeignSpan("1" * 32, "3" * 16, None, "chat m", attributes=model, start_ns=4, end_ns=7)

    inlet.take([inner])
    inlet.take([outer])

    inlet.close()
    (path,) = (tmp_path / "traces").glob("*.jsonl")
    steps = [line for line in map(json.loads, path.read_text().splitlines()) if line["record"] == "step"]
    assert [(step["kind"], step.get("usage")) for step in steps] == [
        ("model", {"input_tokens": 7}),
        ("step", None),
    ]
    config.reset()


def test_a_span_that_can_not_be_read_keeps_no_other_from_the_log(tmp_path: Any) -> None:
    config.reset()
    inlet = Inlet(config.configure(home=tmp_path, service="c"))
    odd = ForeignSpan("1" * 32, f"{2:016x}", None, "s", start_ns=5, end_ns=6, attributes=7)  # type: ignore[arg-type]

    refused = inlet.take([span(1), odd, span(3)])

    inlet.close()
    (path,) = (tmp_path / "traces").glob("*.jsonl")
    steps = [line for line in map(json.loads, path.read_text().splitlines()) if line["record"] == "step"]
    assert [step["step_id"][-1] for step in steps] == ["1", "3"]
    assert len(refused) == 1
    assert inlet.counts["spans"] == 2
    config.reset()


def test_clients_that_send_slowly_hold_up_nobody(receive: Any, make: Any) -> None:
    receiver = receive()
    slow = [receiver.connection() for _ in range(8)]
    for connection in slow:
        connection.putrequest("POST", "/v1/traces")
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Content-Length", "100")
        connection.endheaders()
        connection.send(b"{")

    assert receiver.post("/v1/traces", make.request(make.span(1)))[0] == 200

    for connection in slow:
        connection.close()
    assert receiver.post("/v1/traces", make.request(make.span(2)))[0] == 200
