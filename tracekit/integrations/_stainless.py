"""
Clients made by one generator (OpenAI's and Anthropic's SDK): every call, of every method, goes through one `request`.

It holds the client's own retries, so that they are one step.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

from tracekit.integrations import _parameters, _wire
from tracekit.integrations._dialects import Dialect
from tracekit.integrations._model_call import ModelCall
from tracekit.integrations._patching import Patches
from tracekit.recording.recorder import recorder

_NOT_GIVEN = ("Omit", "NotGiven")
"""Classes that stand for a parameter that was left out."""


def instrument(patches: Patches, base_client: ModuleType, provider: str, dialects: Sequence[Dialect]) -> None:
    """Record the calls of all clients whose base classes *base_client* holds."""
    if patches:
        return
    patches.wrap(base_client.SyncAPIClient, "request", lambda original: _sync(original, provider, dialects))
    patches.wrap(base_client.AsyncAPIClient, "request", lambda original: _async(original, provider, dialects))


def _sync(original: Callable[..., Any], provider: str, dialects: Sequence[Dialect]) -> Callable[..., Any]:
    @functools.wraps(original)
    def request(self: Any, cast_to: Any, options: Any, **kwargs: Any) -> Any:
        call = _begun(self, options, provider, dialects)
        if call is None:
            return original(self, cast_to, options, **kwargs)
        with call.active():
            result = original(self, cast_to, options, **kwargs)
        call.returned()
        return result

    return request


def _async(original: Callable[..., Any], provider: str, dialects: Sequence[Dialect]) -> Callable[..., Any]:
    @functools.wraps(original)
    async def request(self: Any, cast_to: Any, options: Any, **kwargs: Any) -> Any:
        call = _begun(self, options, provider, dialects)
        if call is None:
            return await original(self, cast_to, options, **kwargs)
        with call.active():
            result = await original(self, cast_to, options, **kwargs)
        call.returned()
        return result

    return request


def _begun(client: Any, options: Any, provider: str, dialects: Sequence[Dialect]) -> ModelCall | None:
    """The call as a step that has begun; None for a request that is no model call. Never raises."""
    try:
        if str(options.method).lower() != "post":
            return None
        path = str(options.url).partition("?")[0].rstrip("/")
        dialect = next((each for each in dialects if each.matches(path)), None)
        if dialect is None:
            return None
        _wire.watch_client(client._client)
        return ModelCall(dialect, _body(options), _parameters.of_client(client, provider))
    except Exception as problem:
        recorder().log.trouble(problem)
        return None


def _body(options: Any) -> Mapping[str, Any]:
    given = options.json_data if isinstance(options.json_data, Mapping) else {}
    whole = {**given, **(options.extra_json or {})}
    return {name: value for name, value in whole.items() if type(value).__name__ not in _NOT_GIVEN}
