"""What can be copied about a step: always the original value, never what the screen shows of it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import asdict

from tracekit_analyzers.views import StepDetail


def step_copies(detail: StepDetail, tab: str) -> list[tuple[str, Callable[[], str]]]:
    """Titles and values, the one that the open tab shows first."""
    values: dict[str, str | None] = {
        "received input": detail.received_input,
        "arguments as the model wrote them": detail.asked_arguments,
        "output": detail.output,
        "model's exact text": detail.raw,
        "error": detail.error_message,
        "error stack": detail.error_stack,
        "attributes": detail.attributes,
        "step id": detail.line.step_id,
        "trace id": detail.trace_id,
        "call id": detail.call_id,
        "place in the file": f"{detail.source.file}:{detail.source.line or 1}",
        "SQL of this step": f"SELECT * FROM steps WHERE step_id = '{detail.line.step_id}'",
    }
    found = [(title, _give(text)) for title, text in values.items() if text is not None]
    found.append(("whole step as JSON", lambda: whole(detail)))
    found.append(("as a test", lambda: as_test(detail)))
    first = {"output": "output", "raw": "model's exact text", "attributes": "attributes"}.get(
        tab, "received input"
    )
    return sorted(found, key=lambda entry: entry[0] != first)


def _give(text: str) -> Callable[[], str]:
    return lambda: text


def whole(detail: StepDetail) -> str:
    """The step as JSON."""
    return json.dumps(asdict(detail), default=str, ensure_ascii=False, indent=2)


def as_test(detail: StepDetail) -> str:
    """A test that runs the tool with the input that it received here."""
    name = re.sub(r"\W+", "_", detail.line.tool_name or detail.line.name, flags=re.ASCII).strip("_") or "tool"
    values = {"input": detail.received_input, "output": detail.output}
    parsed = {key: _value(text) for key, text in values.items()}
    return (
        f"def test_{name}_answers_as_recorded() -> None:\n"
        f"    # step {detail.line.step_id} of trace {detail.trace_id}\n"
        f"    received = {parsed['input']!r}\n\n"
        f"    assert {name}(**received) == {parsed['output']!r}\n"
    )


def _value(text: str | None) -> object:
    if text is None:
        return None
    try:
        return json.loads(text)
    except ValueError:
        return text
