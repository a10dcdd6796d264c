"""What a request asks for and an answer tells of itself, as attributes by the GenAI conventions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracekit.integrations._dialects import inside
from tracekit.recording import semconv

Json = Mapping[str, Any]

_NUMBERS = {
    semconv.TEMPERATURE: ("temperature",),
    semconv.TOP_P: ("top_p",),
    semconv.TOP_K: ("top_k",),
    semconv.FREQUENCY_PENALTY: ("frequency_penalty",),
    semconv.PRESENCE_PENALTY: ("presence_penalty",),
    semconv.SEED: ("seed",),
    semconv.MAX_TOKENS: ("max_completion_tokens", "max_output_tokens", "max_tokens"),
}
"""Attributes by the names that the parameter has among providers; the first that is there counts."""

_SERVICES = (("Azure", "azure.ai.openai"), ("Bedrock", "aws.bedrock"), ("Vertex", "gcp.vertex_ai"))
"""Part of the name of a client's class, and the provider that it reaches."""


def of_client(client: Any, provider: str) -> dict[str, Any]:
    """Who is asked, and where: *provider*, unless the client is one of a service that offers its models."""
    classes = [cls.__name__ for cls in type(client).__mro__]
    reached = next((name for part, name in _SERVICES if any(part in cls for cls in classes)), provider)
    url = getattr(client, "base_url", None)
    host, port = getattr(url, "host", None), getattr(url, "port", None)
    if not isinstance(host, str) or not host:
        return {semconv.PROVIDER: reached}
    usual = 80 if getattr(url, "scheme", "") == "http" else 443
    return {semconv.PROVIDER: reached, semconv.SERVER_ADDRESS: host, semconv.SERVER_PORT: port or usual}


def of_request(body: Json) -> dict[str, Any]:
    """The parameters among *body*, as far as they are of the type that the conventions want."""
    found: dict[str, Any] = {}
    for attribute, names in _NUMBERS.items():
        value = next((body[name] for name in names if body.get(name) is not None), None)
        if _is_number(value):
            found[attribute] = value
    if body.get("stream"):
        found[semconv.STREAM] = True
    if _is_number(body.get("n")) and body["n"] != 1:
        found[semconv.CHOICE_COUNT] = body["n"]
    stop = body.get("stop") or body.get("stop_sequences")
    stops = [stop] if isinstance(stop, str) else stop
    if isinstance(stops, list | tuple) and all(isinstance(text, str) for text in stops):
        found[semconv.STOP_SEQUENCES] = list(stops)
    effort = body.get("reasoning_effort") or inside(body, "reasoning", "effort")
    texts = {
        semconv.PREVIOUS_RESPONSE: body.get("previous_response_id")
        or inside(body, "thread", "previous_message_id"),
        semconv.REASONING_LEVEL: effort or inside(body, "output_config", "effort"),
        semconv.CONVERSATION: inside(body, "conversation", "id") or body.get("conversation"),
        semconv.OUTPUT_TYPE: _output_type(body),
    }
    return found | {name: text for name, text in texts.items() if isinstance(text, str)}


def of_answer(data: Json) -> dict[str, Any]:
    """The id of an answer, and which part of its tokens came from a cache, went into one, or was reasoning."""
    found = {semconv.RESPONSE_ID: data["id"]} if isinstance(data.get("id"), str) else {}
    used = data.get("usage")
    if not isinstance(used, Mapping):
        return found
    details = [used.get("prompt_tokens_details"), used.get("input_tokens_details")]
    said = [used.get("completion_tokens_details"), used.get("output_tokens_details")]
    counts = {
        semconv.CACHE_READ_TOKENS: [used.get("cache_read_input_tokens"), *_each(details, "cached_tokens")],
        semconv.CACHE_WRITE_TOKENS: [used.get("cache_creation_input_tokens")],
        semconv.REASONING_TOKENS: _each(said, "reasoning_tokens"),
    }
    for name, values in counts.items():
        count = next((value for value in values if _is_number(value)), 0)
        if count:
            found[name] = count
    return found


def _output_type(body: Json) -> str | None:
    """What kind of content is asked for, where the request says."""
    formats = (
        body.get("response_format"),
        inside(body, "text", "format"),
        inside(body, "output_config", "format"),
    )
    kinds = [
        kind for each in formats if isinstance(each, Mapping) and isinstance(kind := each.get("type"), str)
    ]
    if not kinds:
        return None
    return "json" if kinds[0].startswith("json") else kinds[0]


def _each(parts: list[Any], name: str) -> list[Any]:
    return [part.get(name) for part in parts if isinstance(part, Mapping)]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
