"""
Messages of every span dialect as OpenAI's chat messages: `{"role", "content", "tool_calls", "tool_call_id"}`.

Pure functions. Text stays as it came; only the wrapping changes, so that one hash names a message in every dialect.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson

Message = dict[str, Any]

_ROLES = {"model": "assistant", "ai": "assistant", "human": "user", "developer": "system", "function": "tool"}


def json_value(value: Any) -> Any:
    """What a JSON text says when it is a list or an object; any other value as it is."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "["):
        return value
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        return value


def json_text(value: Any) -> str:
    """*value* as text: a text as it is, anything else as compact JSON."""
    if isinstance(value, str):
        return value
    try:
        return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode()
    except (TypeError, ValueError):
        return json.dumps(value, default=str)


def unflatten(attributes: Mapping[str, Any], prefix: str) -> list[Any]:
    """The list that numbered keys spell: `llm.input_messages.0.message.role` and so on, with *prefix* left out."""
    root: dict[str, Any] = {}
    start = prefix + "."
    for key, value in attributes.items():
        if not key.startswith(start):
            continue
        *path, last = key[len(start) :].split(".")
        node: Any = root
        for part in path:
            node = node.setdefault(part, {})
            if not isinstance(node, dict):
                break
        else:
            node[last] = value
    listed = _listed(root)
    return listed if isinstance(listed, list) else []


def _listed(node: Any) -> Any:
    if not isinstance(node, dict):
        return node
    if node and all(key.isdecimal() for key in node):
        return [_listed(node[key]) for key in sorted(node, key=int)]
    return {key: _listed(value) for key, value in node.items()}


def messages(value: Any, *, role: str = "user") -> list[Message]:
    """Chat messages out of a list, an object or a text in any dialect; *role* is that of a bare text."""
    value = json_value(value)
    if value is None:
        return []
    if isinstance(value, Mapping):
        for key in ("messages", "input_messages", "contents"):
            if isinstance(value.get(key), list | str):
                return messages(value[key], role=role)
        return _one(value, role)
    if isinstance(value, list):
        return [message for item in value for message in _one(item, role)]
    return [{"role": role, "content": json_text(value)}]


def _one(item: Any, role: str) -> list[Message]:
    if isinstance(item, list):  # LangChain sends batches: a list of lists
        return messages(item, role=role)
    if isinstance(item, Mapping) and _is_item(item):
        return [_responses_item(item, role)]
    if isinstance(item, Mapping) and "toolName" in item and "content" not in item:  # Vercel's list of calls
        return _from_parts("assistant", [{"type": "tool-call", **item}], {})
    if not isinstance(item, Mapping):
        return [{"role": role, "content": json_text(item)}]
    if isinstance(item.get("message"), Mapping):
        item = item["message"]
    kwargs = item.get("kwargs")
    if "lc" in item and isinstance(kwargs, Mapping):
        item = kwargs
    name = str(item.get("role") or item.get("type") or role)
    name = _ROLES.get(name, name)
    parts = item.get("parts", item.get("contents", item.get("content")))
    if isinstance(parts, list):
        return _from_parts(name, parts, item)
    return [_with_calls({"role": name, "content": parts}, item)]


_CALL_ITEMS = ("function_call", "custom_tool_call")


def _is_item(item: Mapping[str, Any]) -> bool:
    """Whether *item* is one of the Responses API's that stand beside the messages: it has a type, and nothing of a message."""
    kind = item.get("type")
    if kind in _CALL_ITEMS or (isinstance(kind, str) and kind.endswith("_call_output")):
        return True
    is_message = any(key in item for key in ("role", "content", "parts", "contents", "message", "kwargs"))
    return isinstance(kind, str) and kind not in _ROLES.keys() | _ROLES.values() and not is_message


def _responses_item(item: Mapping[str, Any], role: str) -> Message:
    """A call, its result, or anything else that stands beside the messages, whole: two of a type are not the same."""
    kind, call_id = str(item["type"]), item.get("call_id") or item.get("id")
    if kind in _CALL_ITEMS:
        call = call_of(call_id, item, item.get("arguments", item.get("input")))
        return {"role": "assistant", "content": None, "tool_calls": [call]}
    if kind.endswith("_call_output"):
        return {"role": "tool", "tool_call_id": call_id, "content": item.get("output")}
    text = text_part(item)
    if text is not None:
        return {"role": role, "content": text}
    is_models = kind == "reasoning" or kind.endswith("_call")
    return {"role": "assistant" if is_models else role, "content": [dict(item)]}


def _from_parts(role: str, parts: Sequence[Any], item: Mapping[str, Any]) -> list[Message]:
    """One message for the texts and calls among *parts*, and one of role `tool` for each response among them."""
    said: list[Any] = []
    calls: list[dict[str, Any]] = []
    found: list[Message] = []
    for raw in parts:
        part = raw.get("message_content", raw) if isinstance(raw, Mapping) else raw
        call, response = part_call(part), part_response(part)
        if call is not None:
            calls.append(call)
        elif response is not None:
            found.append(response)
        else:
            said.append(part)
    message: Message = {"role": role, "content": _content(said)}
    if calls:
        message["tool_calls"] = calls
    if said or calls or not found or item.get("tool_calls"):
        found.insert(0, _with_calls(message, item))
    return found


def _content(parts: Sequence[Any]) -> Any:
    texts = [text_part(part) for part in parts]
    if all(text is not None for text in texts):
        return "\n".join(text for text in texts if text is not None) if texts else None
    return list(parts)


def text_part(part: Any) -> str | None:
    """The text of a part that is text and nothing else."""
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping) or part.get("type", "text") not in ("text", "output_text", "input_text"):
        return None
    text = part.get("content", part.get("text"))
    return text if isinstance(text, str) else None


def part_call(part: Any) -> dict[str, Any] | None:
    """The call that a part asks for, in OpenAI's shape; None when it asks for none."""
    if not isinstance(part, Mapping):
        return None
    inner = part.get("functionCall", part.get("function_call"))
    if isinstance(inner, Mapping):
        part = inner
    elif part.get("type") not in ("tool_call", "tool_use", "tool-call", "function_call", "server_tool_call"):
        return None
    arguments = next((part[key] for key in ("arguments", "input", "args") if key in part), None)
    return call_of(part.get("id") or part.get("toolCallId") or part.get("call_id"), part, arguments)


def part_response(part: Any) -> Message | None:
    """The message of role `tool` that a part is; None when it is none. The schema says `response`, its example `result`."""
    if not isinstance(part, Mapping):
        return None
    inner = part.get("functionResponse", part.get("function_response"))
    if isinstance(inner, Mapping):
        part = inner
    elif part.get("type") not in (
        "tool_call_response",
        "tool_result",
        "tool-result",
        "server_tool_call_response",
    ):
        return None
    call_id = part.get("id") or part.get("tool_use_id") or part.get("toolCallId")
    keys = ("response", "result", "output", "content")
    value = next((part[key] for key in keys if part.get(key) is not None), None)
    return {"role": "tool", "tool_call_id": call_id, "name": part.get("name"), "content": value}


def call_of(call_id: Any, names: Mapping[str, Any], arguments: Any) -> dict[str, Any]:
    """A call in OpenAI's shape."""
    name = names.get("name") or names.get("toolName") or ""
    text = "" if arguments is None else json_text(arguments)
    return {"id": call_id or "", "type": "function", "function": {"name": name, "arguments": text}}


def _with_calls(message: Message, item: Mapping[str, Any]) -> Message:
    """*message* with the calls and names that stand beside its content."""
    more = item.get("additional_kwargs")
    asked = item.get("tool_calls") or item.get("toolCalls")
    asked = asked or (more.get("tool_calls") if isinstance(more, Mapping) else None)
    if isinstance(asked, list):
        calls = message.setdefault("tool_calls", [])
        calls.extend(_call(call) for call in asked if isinstance(call, Mapping))
    for key in ("tool_call_id", "name", "finish_reason"):
        if item.get(key) is not None:
            message[key] = item[key]
    return message


def _part(item: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The object under *name*; *item* itself where there is none."""
    part = item.get(name)
    return part if isinstance(part, Mapping) else item


def _call(item: Mapping[str, Any]) -> dict[str, Any]:
    inner = _part(item, "tool_call")
    function = _part(inner, "function")
    keys = ("arguments", "args", "input")
    arguments = next((function[key] for key in keys if function.get(key) is not None), None)
    return call_of(inner.get("id") or inner.get("toolCallId"), function, arguments)


def _texts(content: Any) -> list[str]:
    """The texts of a content, those among its parts where it has others besides."""
    parts = content if isinstance(content, list) else [content]
    return [text for part in parts if (text := text_part(part)) is not None]


def asked_of(said: Iterable[Mapping[str, Any]]) -> list[dict[str, str]]:
    """The native `asked` list of what a model said."""
    return [
        {
            "call_id": str(call["id"]),
            "name": str(call["function"]["name"]),
            "arguments": str(call["function"]["arguments"]),
        }
        for message in said
        for call in message.get("tool_calls") or ()
    ]


def raw_text(said: Sequence[Mapping[str, Any]]) -> str | None:
    """The model's text; the JSON of its calls when it said nothing else; None when nothing is known."""
    texts = [text for message in said for text in _texts(message.get("content"))]
    if any(texts):
        return "\n".join(texts)
    calls = asked_of(said)
    if calls:
        return json_text(calls)
    others = [message.get("content") for message in said if message.get("content") is not None]
    return json_text(others[0]) if others else None
