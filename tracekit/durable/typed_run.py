"""
`Run` for type checkers, as a plain and as an async task sees it.

One class serves both, so the types of `Run` itself can't say whether a call gives a value or an awaitable of it. Who
wants them checked annotates the task's first parameter with `SyncRun` or `AsyncRun`; what is passed is the same.
"""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, Protocol, TypeVar, overload

from tracekit.durable.reply import Reply
from tracekit.tools import Tool

R = TypeVar("R")

Message = dict[str, Any]


class _Common(Protocol):
    """What never waits."""

    @property
    def task_id(self) -> str:
        """The task's id."""

    @property
    def attempt(self) -> int:
        """Which go at the task this is; starts at 1."""

    def plan(self, steps: Sequence[Mapping[str, Any] | str]) -> None:
        """Put down what the task means to do."""

    def note(self, **values: Any) -> None:
        """Key values for whoever looks at the task."""

    def now(self) -> datetime:
        """The time, the same again after a resume."""

    def uuid(self) -> uuid.UUID:
        """A random-looking id, the same again after a resume."""


class SyncRun(_Common, Protocol):
    """The handle in a task made of a plain function."""

    def model(
        self,
        function: Callable[..., Any],
        messages: Sequence[Any],
        *,
        tools: Sequence[Tool[..., Any]] | None = None,
        timeout_s: float | None = None,
        **settings: Any,
    ) -> Reply:
        """The model's reply."""

    @overload
    def tool(self, tool: Callable[..., Coroutine[Any, Any, R]], /, *args: Any, **kwargs: Any) -> R: ...
    @overload
    def tool(self, tool: Callable[..., R], /, *args: Any, **kwargs: Any) -> R: ...

    def tools(
        self, tool_calls: Sequence[Any], tools: Sequence[Tool[..., Any]] | None = None
    ) -> list[Message]:
        """The messages that answer the model's calls, in their order."""

    @overload
    def step(
        self, name: str, function: Callable[..., Coroutine[Any, Any, R]], /, *args: Any, **kwargs: Any
    ) -> R: ...
    @overload
    def step(self, name: str, function: Callable[..., R], /, *args: Any, **kwargs: Any) -> R: ...

    def ask(self, question: str, options: Sequence[str] = ()) -> Any:
        """A person's answer."""

    def branch(self, name: str) -> AbstractContextManager[SyncRun]:
        """A handle for a thread."""


class AsyncRun(_Common, Protocol):
    """The handle in a task made of an async function: what may wait is awaited, whatever runs in it."""

    def model(
        self,
        function: Callable[..., Any],
        messages: Sequence[Any],
        *,
        tools: Sequence[Tool[..., Any]] | None = None,
        timeout_s: float | None = None,
        **settings: Any,
    ) -> Awaitable[Reply]:
        """The model's reply."""

    @overload
    def tool(
        self, tool: Callable[..., Coroutine[Any, Any, R]], /, *args: Any, **kwargs: Any
    ) -> Coroutine[Any, Any, R]: ...
    @overload
    def tool(self, tool: Callable[..., R], /, *args: Any, **kwargs: Any) -> Coroutine[Any, Any, R]: ...

    def tools(
        self, tool_calls: Sequence[Any], tools: Sequence[Tool[..., Any]] | None = None
    ) -> Awaitable[list[Message]]:
        """The messages that answer the model's calls, in their order."""

    @overload
    def step(
        self, name: str, function: Callable[..., Coroutine[Any, Any, R]], /, *args: Any, **kwargs: Any
    ) -> Coroutine[Any, Any, R]: ...
    @overload
    def step(
        self, name: str, function: Callable[..., R], /, *args: Any, **kwargs: Any
    ) -> Coroutine[Any, Any, R]: ...

    def ask(self, question: str, options: Sequence[str] = ()) -> Awaitable[Any]:
        """A person's answer."""

    def branch(self, name: str) -> AbstractContextManager[AsyncRun]:
        """A handle for a thread."""
