"""Streams in Bedrock's frames, read by the real client over a real connection."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from typing import Any

import anthropic as sdk
import pytest

from tracekit.integrations import anthropic

USED = {"input_tokens": 1, "output_tokens": 1}
HEAD = {"id": "m", "type": "message", "role": "assistant", "model": "scripted-1", "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": USED}  # fmt: skip
EVENTS: list[dict[str, Any]] = [
    {"type": "message_start", "message": HEAD},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Grüß "}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "dich."}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 4}},
    {"type": "message_stop"},
]


def frame(payload: dict[str, Any], kind: bytes = b"event") -> bytes:
    name = b":message-type"
    headers = bytes([len(name)]) + name + b"\x07" + struct.pack(">H", len(kind)) + kind
    body = json.dumps(payload).encode()
    prelude = struct.pack(">II", 16 + len(headers) + len(body), len(headers))
    whole = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + body
    return whole + struct.pack(">I", zlib.crc32(whole))


def packed(event: dict[str, Any]) -> bytes:
    return frame({"bytes": base64.b64encode(json.dumps(event).encode()).decode()})


def read(provider: Any, answer: Any, data: bytes) -> bytes:
    anthropic.instrument()
    client = sdk.Anthropic(api_key="k", base_url=provider.url, max_retries=0)
    provider.answers(answer(data, headers={"Content-Type": "application/vnd.amazon.eventstream"}))
    messages: list[Any] = [{"role": "user", "content": "Hello."}]
    with client.messages.with_streaming_response.create(
        model="m", max_tokens=5, messages=messages, stream=True
    ) as response:
        return b"".join(response.iter_bytes(chunk_size=7))


def test_the_events_in_the_frames_are_gathered(home: Any, provider: Any, answer: Any, steps: Any) -> None:
    data = b"".join(map(packed, EVENTS))

    assert read(provider, answer, data) == data

    (step,) = steps()
    assert (step["status"], step["model_raw_output"], step["finish_reason"]) == (
        "ok",
        "Grüß dich.",
        "end_turn",
    )
    assert step["usage"] == {"input_tokens": 1, "output_tokens": 4}
    assert step["attributes"]["tracekit.chunks"] == len(EVENTS)


def test_an_exception_in_a_frame_is_the_error_of_the_call(
    home: Any, provider: Any, answer: Any, steps: Any
) -> None:
    read(provider, answer, b"".join(map(packed, EVENTS[:3])) + frame({"message": "throttled"}, b"exception"))

    (step,) = steps()
    assert (step["status"], step["model_raw_output"], step["error_message"]) == (
        "error",
        "Grüß ",
        "throttled",
    )


@pytest.mark.parametrize("data", [b"\0" * 40, b"no frames at all, only text", packed(EVENTS[0])[:-3]])
def test_what_is_no_frame_reaches_its_reader_all_the_same(
    home: Any, provider: Any, answer: Any, steps: Any, data: bytes
) -> None:
    assert read(provider, answer, data) == data

    assert [step["status"] for step in steps()] == ["ok"]
