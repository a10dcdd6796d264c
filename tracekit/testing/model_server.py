"""
A scripted model behind an OpenAI-compatible chat endpoint on loopback, so that any real client can talk to it.

`POST /v1/chat/completions` (also `"stream": true`), `POST /v1/messages` (Anthropic's, without streams) and
`GET /v1/models`. The policy of the refund talk reads the messages as a model would: it asks for the next tool whose answer
it has not seen, with arguments taken from earlier answers, and ends with a text. The same messages give the same reply,
byte for byte.
"""

from __future__ import annotations

import argparse
import hashlib
import inspect
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracekit.errors import TracekitError
from tracekit.modules import load_script
from tracekit.testing.loopback import Answer, Request, serve
from tracekit.testing.messages_wire import as_message, chat_messages
from tracekit.testing.service import Service

MODEL = "scripted-refund-1"

Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Turn:
    """What the model does next: say *text*, or ask for *tool*."""

    text: str | None = None
    tool: str | None = None
    arguments: dict[str, Any] | None = None


Policy = Callable[[Sequence[Message]], Turn | Message]
"""What a model says to these messages: a turn, or an assistant's message as it is."""


def refund_policy(messages: Sequence[Message]) -> Turn:
    """
    The next turn of a refund talk: look the order up, compute, pay, tell the customer, report.

    A tool that answered with an error, or with something else than JSON, ends the talk with a text that says so.
    """
    answers = answers_by_tool(messages)
    for tool, answer in answers.items():
        if not isinstance(answer, dict) or "error" in answer:
            return Turn(text=f"I could not finish: {tool} answered {_plain(answer)}")
    order_id = _order_id(messages)
    if order_id is None:
        return Turn(text="Which order is it about?")
    if "find_order" not in answers:
        return Turn(tool="find_order", arguments={"order_id": order_id})
    if "compute_refund" not in answers:
        return Turn(tool="compute_refund", arguments={"prices": _returned_prices(answers["find_order"])})
    amount = answers["compute_refund"].get("amount")
    if "refund" not in answers:
        return Turn(tool="refund", arguments={"order_id": order_id, "amount": amount})
    done = f"{amount} for order {order_id} was refunded ({answers['refund'].get('refund_id')})."
    if "notify" not in answers:
        return Turn(tool="notify", arguments={"order_id": order_id, "text": f"Hello, {done}"})
    return Turn(text=f"Done: {done} The customer was told.")


def answers_by_tool(messages: Sequence[Message]) -> dict[str, Any]:
    """The last answer of each tool that has answered, decoded where it is JSON; names come from the calls."""
    names = {
        call["id"]: call["function"]["name"]
        for message in messages
        for call in message.get("tool_calls") or []
    }
    return {
        names[message["tool_call_id"]]: _decoded(message.get("content"))
        for message in messages
        if message.get("role") == "tool" and message.get("tool_call_id") in names
    }


def _decoded(content: Any) -> Any:
    text = _text(content)
    try:
        return json.loads(text)
    except ValueError:
        return text


def _text(content: Any) -> str:
    """Content is a text, or a list of parts of which some are text."""
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content if isinstance(part, dict))
    return str(content or "")


def _plain(answer: Any) -> str:
    return str(answer["error"] if isinstance(answer, dict) else answer)[:200]


def _returned_prices(order: Any) -> list[str]:
    lines = order.get("lines") or {}
    return [price for name, price in lines.items() if name in (order.get("returned") or [])]


def _order_id(messages: Sequence[Message]) -> str | None:
    texts = (_text(message.get("content")) for message in messages if message.get("role") == "user")
    return next((found.group() for text in texts if (found := re.search(r"\b[A-Z]-\d+\b", text))), None)


class ModelApp:
    """Answers as the chat completions endpoint does; *policy* says what."""

    def __init__(self, policy: Policy = refund_policy) -> None:
        self._policy = policy

    def answer(self, request: Request) -> Answer:
        match request.method, request.path:
            case "GET", "/v1/models":
                return Answer(
                    {"object": "list", "data": [{"id": MODEL, "object": "model", "owned_by": "tracekit"}]}
                )
            case "POST", "/v1/chat/completions":
                return self._complete(request.body)
            case "POST", "/v1/messages":
                return self._message(request.body)
        return _error(f"no such path: {request.method} {request.path}", 404)

    def _complete(self, body: Any) -> Answer:
        messages = body.get("messages") if isinstance(body, dict) else None
        if not isinstance(messages, list) or not messages:
            return _error("expected a list of messages in 'messages'", 400)
        completion = complete(messages, self._policy(messages), model=str(body.get("model", MODEL)))
        if not body.get("stream"):
            return Answer(completion)
        with_usage = bool((body.get("stream_options") or {}).get("include_usage"))
        return Answer(events=stream(completion, with_usage=with_usage))

    def _message(self, body: Any) -> Answer:
        messages = chat_messages(body) if isinstance(body, dict) else []
        if not messages or body.get("stream"):
            return _error("expected messages without 'stream'", 400)
        completion = complete(messages, self._policy(messages), model=str(body.get("model", MODEL)))
        return Answer(as_message(completion))


def _error(message: str, status: int) -> Answer:
    return Answer(
        {"error": {"message": message, "type": "invalid_request_error", "code": None}}, status=status
    )


def complete(messages: Sequence[Message], turn: Turn | Message, *, model: str) -> dict[str, Any]:
    """A `chat.completion` object that says *turn*; ids are taken from the messages, so that they repeat."""
    asked = json.dumps(messages, sort_keys=True, ensure_ascii=False)
    name = hashlib.blake2b(asked.encode(), digest_size=8).hexdigest()
    # not by `Turn`: run as a program, this module is there twice
    message = {"role": "assistant", **turn} if isinstance(turn, dict) else _said(turn, f"call_{name}")
    spent = len(asked) // 4, len(json.dumps(message)) // 4
    return {
        "id": f"chatcmpl-{name}",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": model,
        "choices": [
            {
                "index": 0,
                "message": message,
                "finish_reason": "tool_calls" if message.get("tool_calls") else "stop",
                "logprobs": None,
            }
        ],
        "usage": {"prompt_tokens": spent[0], "completion_tokens": spent[1], "total_tokens": sum(spent)},
    }


def _said(turn: Turn, call_id: str) -> Message:
    message: Message = {"role": "assistant", "content": turn.text, "refusal": None}
    if turn.tool is not None:
        function = {"name": turn.tool, "arguments": json.dumps(turn.arguments, ensure_ascii=False)}
        message["tool_calls"] = [{"id": call_id, "type": "function", "function": function}]
    return message


def stream(completion: dict[str, Any], *, with_usage: bool) -> Iterator[str]:
    """The same completion as the data of `chat.completion.chunk` events, cut within words; `[DONE]` is the last."""
    head = {name: completion[name] for name in ("id", "created", "model")}
    choice = completion["choices"][0]
    deltas = [{"role": "assistant", "content": None}, *_deltas(choice["message"])]
    for delta in deltas:
        yield _chunk(head, [{"index": 0, "delta": delta, "finish_reason": None}])
    yield _chunk(head, [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}])
    if with_usage:
        yield _chunk(head, [], usage=completion["usage"])
    yield "[DONE]"


def _deltas(message: Message) -> Iterator[dict[str, Any]]:
    for piece in _pieces(message.get("content") or ""):
        yield {"content": piece}
    for index, call in enumerate(message.get("tool_calls") or []):
        function = {"name": call["function"]["name"], "arguments": ""}
        yield {"tool_calls": [{**call, "index": index, "function": function}]}
        for piece in _pieces(call["function"]["arguments"]):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _pieces(text: str, size: int = 7) -> Iterator[str]:
    return (text[start : start + size] for start in range(0, len(text), size))


def _chunk(head: dict[str, Any], choices: list[dict[str, Any]], **more: Any) -> str:
    return json.dumps(
        {**head, "object": "chat.completion.chunk", "choices": choices, **more}, ensure_ascii=False
    )


class ModelServer(Service):
    """
    The scripted model in a process of its own; `base_url` is what an OpenAI client takes.

    Args:
        policy: A function at the top of a module or script of yours: gets the messages and gives the next `Turn`, or an
            assistant's message as it is (several tool calls, arguments that are no JSON). Without it the model is the
            refund agent's. The process loads the function's file anew.
    """

    module = "tracekit.testing.model_server"

    def __init__(self, *arguments: str, policy: Policy | None = None) -> None:
        super().__init__(*arguments, *(("--policy", _place_of(policy)) if policy else ()))

    @property
    def base_url(self) -> str:
        """Such as `http://127.0.0.1:49153/v1`."""
        return f"{self.url}/v1"


def _place_of(policy: Policy) -> str:
    """`FILE:NAME`, by which another process finds *policy*; raises for what it could not find there."""
    file, name = inspect.getsourcefile(policy), getattr(policy, "__qualname__", "")
    if not file or not name.isidentifier():
        raise TracekitError(
            "testing.policy",
            f"expected a function at the top of a module or script as policy, got {policy!r}",
        )
    return f"{os.path.abspath(file)}:{name}"


def _policy_at(place: str) -> Policy:
    file, _, name = place.rpartition(":")
    policy: Policy = getattr(load_script(Path(file)), name)
    return policy


def main() -> None:
    """Serve the scripted model until standard input closes."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument(
        "--policy", metavar="FILE:NAME", help="a function that says the next turn; the refund talk"
    )
    options = parser.parse_args()
    serve(ModelApp(_policy_at(options.policy) if options.policy else refund_policy), port=options.port)


if __name__ == "__main__":
    main()
