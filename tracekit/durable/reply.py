"""
What a model answered, in one shape for whatever client asked it.

Understands a plain text, an OpenAI-style completion, an Anthropic-style message (objects or dicts) and a `Reply`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from tracekit.errors import TracekitError
from tracekit.model import ToolCall, Usage


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer of a model; the same after a resume as before it."""

    message: dict[str, Any]
    """The assistant's message, to be appended to the conversation as it is."""
    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    raw: Any = None
    """The whole answer as plain JSON."""
    usage: Usage = field(default_factory=Usage)
    finish_reason: str | None = None
    model: str | None = None

    @property
    def raw_text(self) -> str:
        """The model's exact text: what it said, and the arguments it wrote."""
        parts = [self.text] if self.text else []
        parts += [call.arguments_raw for call in self.tool_calls]
        return "\n".join(parts)


def to_reply(answer: Any) -> Reply:
    """*answer* of any known client as a `Reply`; raises `TracekitError("reply.unknown")` for anything else."""
    if isinstance(answer, Reply):
        return answer
    if isinstance(answer, str):
        return Reply({"role": "assistant", "content": answer}, answer, raw=answer)
    body = _plain(answer)
    if isinstance(body, Mapping):
        if body.get("choices"):
            return _openai(body)
        if body.get("type") == "message" or isinstance(body.get("content"), list):
            return _anthropic(body)
        if body.get("role") == "assistant" or "tool_calls" in body:
            return _openai({"choices": [{"message": dict(body)}]})
    raise TracekitError(
        "reply.unknown",
        "run.model expected its function to return a text, an OpenAI-style completion, an Anthropic-style message or "
        f"a tracekit Reply, got {type(answer).__module__}.{type(answer).__qualname__}",
    )


def as_written(reply: Reply, asked: Sequence[Mapping[str, Any]]) -> tuple[Reply, bool]:
    """
    *reply* with the arguments of its calls in the model's own text, and whether each of them is now that.

    A client that hands out parsed arguments has thrown that text away: it is taken from *asked* (`call_id`, `arguments`), the
    calls as they were seen on the wire, where these are the same call. Else it is the parsed value written anew.
    """
    written = {call.get("call_id"): str(call.get("arguments")) for call in asked}
    calls = tuple(
        replace(call, arguments_raw=written[call.call_id])
        if _says_the_same(call.arguments_raw, written.get(call.call_id))
        else call
        for call in reply.tool_calls
    )
    parsed = isinstance(reply.raw, Mapping) and not reply.raw.get("choices")
    exact = not parsed or all(call.arguments_raw == written.get(call.call_id) for call in calls)
    return replace(reply, tool_calls=calls), exact


def _says_the_same(text: str, written: str | None) -> bool:
    try:
        return written is not None and bool(orjson.loads(text) == orjson.loads(written))
    except orjson.JSONDecodeError:
        return False


def _plain(answer: Any) -> Any:
    """The answer as dicts and lists: clients' own objects know how to be dumped."""
    for name in ("model_dump", "to_dict"):
        dump = getattr(answer, name, None)
        if callable(dump) and not isinstance(answer, type):
            return dump(mode="json") if name == "model_dump" else dump()
    return answer


def _openai(body: Mapping[str, Any]) -> Reply:
    choice = body["choices"][0]
    source = choice.get("message") or {}
    calls = tuple(_openai_call(call, number) for number, call in enumerate(source.get("tool_calls") or (), 1))
    message = {"role": "assistant", "content": source.get("content")}
    if calls:
        message["tool_calls"] = list(source["tool_calls"])
    return Reply(
        message,
        source.get("content") or "",
        calls,
        raw=dict(body),
        usage=_usage(body.get("usage"), "prompt_tokens", "completion_tokens"),
        finish_reason=choice.get("finish_reason"),
        model=body.get("model"),
    )


def _openai_call(call: Mapping[str, Any], number: int) -> ToolCall:
    function = call.get("function") or {}
    return ToolCall(
        str(call.get("id") or f"call_{number}"),
        str(function.get("name") or ""),
        _as_text(function.get("arguments")),
    )


def _anthropic(body: Mapping[str, Any]) -> Reply:
    blocks = [block for block in body.get("content") or () if isinstance(block, Mapping)]
    text = "".join(str(block.get("text", "")) for block in blocks if block.get("type") == "text")
    calls = tuple(
        ToolCall(str(block.get("id")), str(block.get("name")), _as_text(block.get("input")))
        for block in blocks
        if block.get("type") == "tool_use"
    )
    return Reply(
        {"role": "assistant", "content": list(blocks)},
        text,
        calls,
        raw=dict(body),
        usage=_usage(body.get("usage"), "input_tokens", "output_tokens"),
        finish_reason=body.get("stop_reason"),
        model=body.get("model"),
    )


def _as_text(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else orjson.dumps(arguments or {}).decode()


def _usage(usage: Any, inputs: str, outputs: str) -> Usage:
    if not isinstance(usage, Mapping):
        return Usage()
    cost = usage.get("cost")
    return Usage(usage.get(inputs), usage.get(outputs), cost if isinstance(cost, int | float) else None)


def tool_message(style: str, call: ToolCall, content: str, *, is_error: bool) -> dict[str, Any]:
    """The message that answers *call*, as the client's API wants it: `openai` or `anthropic`."""
    if style == "anthropic":
        block = {"type": "tool_result", "tool_use_id": call.call_id, "content": content, "is_error": is_error}
        return {"role": "user", "content": [block]}
    return {"role": "tool", "tool_call_id": call.call_id, "name": call.name, "content": content}
