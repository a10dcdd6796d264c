"""
`Run`: what a task function is given; each method is one durable call.

In a task made of an async function every method that may wait gives an awaitable. The place of a call is taken when
the method is called, so `gather(run.tool(a), run.tool(b))` finds its answers again whichever ends first.
"""

from __future__ import annotations

import asyncio
import inspect
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from tracekit.durable import shell_async, shell_sync
from tracekit.durable.attempts import STOPS
from tracekit.durable.model_call import ModelAsked, model_call
from tracekit.durable.places import Scope, entered
from tracekit.durable.requests import Op
from tracekit.durable.session import Session
from tracekit.durable.small_calls import (
    StepAsked,
    ask_call,
    note_call,
    plan_call,
    step_call,
    value_call,
    wall_now,
)
from tracekit.durable.tool_call import Asked, tool_call
from tracekit.durable.tool_round import Settled, messages_of, settled_call, stop_loops, to_calls, tool_table
from tracekit.policy import Policy
from tracekit.snapshot import digest, to_log
from tracekit.tools import Tool, as_tool, handler, is_async


class Run:
    """The handle of one attempt; also what direct calls of tools go through."""

    def __init__(self, session: Session, scope: Scope | None = None) -> None:
        self._session = session
        self._scope = scope

    @property
    def task_id(self) -> str:
        """The task's id."""
        return self._session.task.task_id

    @property
    def attempt(self) -> int:
        """Which go at the task this is; starts at 1."""
        return self._session.task.attempt

    # ------------------------------------------------------------------------------------- calls

    def model(
        self,
        function: Callable[..., Any],
        messages: Sequence[Any],
        *,
        tools: Sequence[Tool[Any, Any]] | None = None,
        timeout_s: float | None = None,
        **settings: Any,
    ) -> Any:
        """
        The `Reply` of the model that *function* asks: `function(messages, tools=[definitions], **settings)`.

        *tools* is passed on as tool definitions where the function takes it, and remembered for `run.tools`.
        """
        table = tool_table(tools)
        self._session.tools.update(table)
        passed: dict[str, Any] = dict(settings)
        if tools is not None and _takes(function, "tools"):
            passed["tools"] = [each.definition() for each in table.values()]
        asked = ModelAsked(
            _name_of(function),
            lambda sent: function(sent, **passed),
            is_async(function),
            tuple(_message(each) for each in messages),
            {"tools": sorted(table), **settings},
            timeout_s,
        )
        return self._drive(model_call(self._session, self._place(), asked))

    def tool(self, tool: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """The result of *tool* through the ledger; None when it was skipped; raises what it raised."""
        return self._drive(self._tool_op(as_tool(tool, Policy()), args, kwargs))

    def tools(self, tool_calls: Sequence[Any], tools: Sequence[Tool[Any, Any]] | None = None) -> Any:
        """
        The messages that answer the model's *tool_calls*, in their order; side by side in an async task.

        Each call is settled for itself. Raises, after all of them, what the model can't put right.
        """
        table = tool_table(tools)
        session = self._session
        ops = [settled_call(session, self._place(), call, table) for call in to_calls(tool_calls)]
        return self._round_async(ops) if session.is_async else self._round_sync(ops)

    def step(self, name: str, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """The result of a named piece of work, done once and then remembered."""
        arguments = {"args": list(args), "kwargs": kwargs}
        asked = StepAsked(name, lambda: function(*args, **kwargs), is_async(function), arguments)
        return self._drive(step_call(self._session, self._place(), asked))

    def ask(self, question: str, options: Sequence[str] = ()) -> Any:
        """A person's answer; the task waits in review until there is one."""
        return self._drive(ask_call(self._session, self._place(), question, tuple(options)))

    # ------------------------------------------------------------------- never waiting, never awaited

    def plan(self, steps: Sequence[Mapping[str, Any] | str]) -> None:
        """Put down what the task means to do: names, or `{"name", "depends_on", "critical"}`."""
        shell_sync.drive(self._session, plan_call(self._session, steps))

    def note(self, **values: Any) -> None:
        """Key values for whoever looks at the task."""
        shell_sync.drive(self._session, note_call(self._session, self._place(), values))

    def now(self) -> datetime:
        """The time, aware and UTC; the same again after a resume."""
        text: str = shell_sync.drive(self._session, value_call(self._session, self._place(), "now", wall_now))
        return datetime.fromisoformat(text)

    def uuid(self) -> uuid.UUID:
        """A random-looking id; the same again after a resume."""
        name = digest(f"{self.task_id}\x1fuuid\x1f{self._place()}".encode())
        return uuid.UUID(hex=name, version=4)

    @contextmanager
    def branch(self, name: str) -> Iterator[Run]:
        """A handle for a thread; *name* says which branch it is, in every attempt alike."""
        scope = (self._scope or self._session.scope).branch(name)
        branch = Run(self._session, scope)
        root = self._session.root
        token = handler.set(branch)
        try:
            with entered(scope), root.active():
                yield branch
        finally:
            handler.reset(token)

    # ------------------------------------------------------------------------------------- inside

    def call_tool(self, tool: Tool[Any, Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A tool that was called like the plain function it was."""
        op = self._tool_op(tool, args, kwargs)
        return shell_async.drive(self._session, op) if tool.is_async else shell_sync.drive(self._session, op)

    def _tool_op(self, tool: Tool[Any, Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Op[Any]:
        named = tool.named(args, kwargs)
        tool.arguments.fitted(named)
        return tool_call(self._session, self._place(), Asked(tool, named))

    def _place(self) -> str:
        return self._session.place(self._scope)

    def _drive(self, op: Op[Any]) -> Any:
        return (
            shell_async.drive(self._session, op)
            if self._session.is_async
            else shell_sync.drive(self._session, op)
        )

    def _round_sync(self, ops: list[Op[Settled]]) -> list[dict[str, Any]]:
        outcomes: list[Settled | BaseException] = []
        for op in ops:
            try:
                outcomes.append(shell_sync.drive(self._session, op))
            except Exception as error:
                outcomes.append(error)
        return shell_sync.drive(self._session, self._close_round(outcomes))

    async def _round_async(self, ops: list[Op[Settled]]) -> list[dict[str, Any]]:
        running = [shell_async.drive(self._session, op) for op in ops]
        outcomes = await asyncio.gather(*running, return_exceptions=True)
        return await shell_async.drive(self._session, self._close_round(outcomes))

    def _close_round(self, outcomes: Sequence[Settled | BaseException]) -> Op[list[dict[str, Any]]]:
        """The answers, once every call is settled; what ends the attempt goes before what a tool raised."""
        errors = [each for each in outcomes if isinstance(each, BaseException)]
        for error in sorted(errors, key=lambda each: not isinstance(each, STOPS)):
            raise error
        settled = [each for each in outcomes if isinstance(each, Settled)]
        messages = messages_of(self._session, settled)
        for each in settled:
            yield from stop_loops(self._session, each)
        return messages


def _takes(function: Callable[..., Any], name: str) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return True
    return any(p.name == name or p.kind is p.VAR_KEYWORD for p in parameters)


def _name_of(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", None) or type(function).__name__


def _message(message: Any) -> dict[str, Any]:
    if isinstance(message, Mapping):
        return dict(message)
    dump = getattr(message, "model_dump", None)
    if dump is not None:
        dumped: dict[str, Any] = dump(mode="json", exclude_none=True)
        return dumped
    return {"role": "unknown", "content": to_log(message)}
