"""Writes docs/api.md from the public names themselves: what they are called with, and the first line of what they say."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Section:
    """One importable module of the page."""

    module: str
    title: str
    names: tuple[str, ...] = ()
    """Names of a module without `__all__`."""

    def public(self) -> tuple[str, ...]:
        """The names in the order in which they are shown."""
        listed = self.names or tuple(importlib.import_module(self.module).__all__)
        return tuple(name for name in listed if not name.startswith("_"))


INSTRUMENT = ("instrument", "uninstrument")

SECTIONS = (
    Section("tracekit", "Record, make durable, recover"),
    Section(
        "tracekit.errors",
        "Errors beside those",
        ("NotStorable", "Divergence", "LeaseLost", "LimitReached", "Conflict"),
    ),
    Section(
        "tracekit.model", "What a `Reply` and a failure class hold", ("ToolCall", "Usage", "RetryAdvice")
    ),
    Section("tracekit.recording.recorder", "Record what has no decorator", ("recorder", "Recorder")),
    Section("tracekit.recording.open_step", "What `Recorder.begin` gives", ("OpenStep",)),
    Section("tracekit.recording.stream", "Streams", ("RecordedStream", "AsyncRecordedStream", "GatherText")),
    Section(
        "tracekit.durable.migrate", "Carry a task over to changed code", ("Migration", "OldRun", "OldStep")
    ),
    Section("tracekit.store", "Where tasks live", ("open_store",)),
    Section("tracekit.integrations.openai", "The SDK of OpenAI", INSTRUMENT),
    Section("tracekit.integrations.anthropic", "The SDK of Anthropic", INSTRUMENT),
    Section("tracekit.integrations.langchain", "Tools of LangChain and LangGraph", (*INSTRUMENT, "guard")),
    Section("tracekit.integrations.openai_agents", "OpenAI's Agents SDK", INSTRUMENT),
    Section("tracekit.integrations.mcp", "MCP client sessions", INSTRUMENT),
    Section("tracekit.integrations.httpx", "httpx: keys and outcomes of effects", INSTRUMENT),
    Section("tracekit.testing", "Test the recovery of your own agent"),
    Section("tracekit_analyzers", "Analyse logs; extra `[analyzers]`"),
    Section("tracekit_analyzers.spark.cluster", "The same on Spark; extra `[spark]`", ("analyze",)),
)

METHODS = {
    "Run": ("model", "tools", "tool", "step", "ask", "plan", "note", "now", "uuid", "branch"),
    "Task": ("start", "start_async", "submit"),
    "Tool": ("definition",),
    "step": ("result", "note"),
    "Recorder": ("begin",),
    "OpenStep": ("active", "note", "finish"),
    "CapturedSteps": ("one", "steps", "lines"),
    "Faults": (
        *("drop_answer", "delay", "duplicate", "reorder", "rate_limit", "fail", "malformed"),
        *("raise_at", "disk_full_at", "delay_at", "call_at"),
    ),
    "Service": ("misbehave", "requests", "close"),
    "SettableClock": ("move",),
    "World": ("happened",),
    "Reader": ("sniff", "read"),
    "Engine": ("load", "close"),
    "Findings": ("scan", "sql", "report", "close"),
    "Session": (
        *("load", "traces", "trace", "steps", "step", "context", "lineage"),
        *("verdict", "diagnoses", "resumable", "groups", "damage", "sql", "close"),
    ),
}
"""Methods that are meant to be called, for classes whose objects a user holds."""

MADE = {
    *(
        "Retry",
        "Reply",
        "ToolCall",
        "Usage",
        "step",
        "RecordedStream",
        "AsyncRecordedStream",
        "GatherText",
        "Migration",
    ),
    *("CapturedSteps", "Fault", "Faults", "ModelServer", "SettableClock", "Turn", "World"),
    *("Engine", "Session", "Opinion"),
}
"""Classes whose objects a user makes; those of the others are given."""

CONSTANTS = {"POINTS": "Every point at which a process can be killed, by name."}

OPENING = """# Public names

What stands here is meant to be imported, is fully typed (`py.typed`), and changes only with a line in the
[changelog](../CHANGELOG.md). Anything else may change at any time. The commands and their exit codes:
[analysis-json.md](analysis-json.md) and `tracekit --help`.

Made by `python docs/make_api.py` from the names themselves; `help(tracekit.tool)` tells the rest of each.
"""


def page() -> str:
    """The whole page."""
    return "\n".join([OPENING, *(_section(section) for section in SECTIONS)])


def _section(section: Section) -> str:
    module = importlib.import_module(section.module)
    rows = [row for name in section.public() for row in _rows(name, getattr(module, name))]
    return "\n".join([f"## `{section.module}`", f"{section.title}.", "", "| | |", "|---|---|", *rows, ""])


def shown(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """What has a row: the name itself, and the methods that are meant to be called."""
    yield name, value
    for method in METHODS.get(name, ()):
        yield f"{name}.{method}", getattr(value, method)


def _rows(name: str, value: Any) -> Iterator[str]:
    if name in CONSTANTS:
        yield _row(name, CONSTANTS[name])
        return
    for called, each in shown(name, value):
        given = inspect.isclass(each) and called not in MADE
        yield _row(
            called if given else f"{called}({_parameters(each, bound='.' in called)})", _first_line(each)
        )


def _row(shown: str, said: str) -> str:
    return f"| `{shown}` | {said} |"


def _parameters(value: Callable[..., Any], *, bound: bool) -> str:
    """The parameters by name; `*` stands before those that have to be named."""
    names: list[str] = []
    for each in list(inspect.signature(value).parameters.values())[bound:]:
        if each.kind is each.KEYWORD_ONLY and not any(name.startswith("*") for name in names):
            names.append("*")
        names.append(str(each.replace(annotation=each.empty, default=each.empty)))
    return ", ".join(names)


def _first_line(value: Any) -> str:
    said = (inspect.getdoc(value) or "").strip().partition("\n\n")[0]
    return " ".join(said.split())


if __name__ == "__main__":
    Path(__file__).with_name("api.md").write_text(page(), encoding="utf-8")
