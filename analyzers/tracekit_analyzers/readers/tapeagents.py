"""
TapeAgents tapes: `{"metadata", "context", "steps": [{"kind", "metadata": {"prompt_id", "node", "agent"}, ...}]}`.

Steps with one prompt id came out of one model call. What is called `..._action` is a call, and the observation after it
its result; prompts and raw outputs are only in the SQLite store.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tracekit.model import StepStatus, ToolCall
from tracekit_analyzers.model import DamageReport, InputFile, NativeRecord
from tracekit_analyzers.readers._chat import Answer, ChatMessage, chat_records
from tracekit_analyzers.readers._openai import calls_of, text_of
from tracekit_analyzers.readers._run import Run, json_text
from tracekit_analyzers.readers._source import items, never_silent, odd_is_not_ours, peek
from tracekit_analyzers.readers._spans import span_ids

_PEOPLE = frozenset({"user", "question", "task"})
_RESULTS = ("_observation", "_result")
_OWN = frozenset({"kind", "metadata", "tool_calls"})


class TapeAgentsReader:
    """Reads tapes, one or a list of them."""

    name = "tapeagents"
    title = "TapeAgents tape"

    @odd_is_not_ours
    def sniff(self, file: InputFile) -> int:
        """90 when the top object has `metadata` and steps with a `kind`."""
        top = peek(file.head)
        top = top[0] if isinstance(top, list) and top else top
        if not isinstance(top, Mapping) or "metadata" not in top or "context" not in top:
            return 0
        steps = top.get("steps")
        first = steps[0] if isinstance(steps, list) and steps else {"kind": ""}
        return 90 if isinstance(first, Mapping) and "kind" in first and "steps" in top else 70

    @never_silent
    def read(self, file: InputFile, damage: DamageReport) -> Iterator[NativeRecord]:
        """Records tape by tape; `index` is the position of the step in its tape."""
        for trace_index, tape in enumerate(items(file, damage)):
            if isinstance(tape, Mapping):
                yield from tape_records(file, trace_index, tape, {})


def tape_records(
    file: InputFile, trace_index: int, tape: Mapping[str, Any], calls: Mapping[str, ChatMessage]
) -> Iterator[NativeRecord]:
    """Records of one tape; *calls* are the model calls behind it by prompt id, where they are known."""
    metadata = tape.get("metadata") or {}
    name = str(metadata.get("id") or "") or None
    run = Run(file, trace_index, trace_id=span_ids(name.replace("-", ""), 32) if name else None, task_id=name)
    steps = [step for step in tape.get("steps") or () if isinstance(step, Mapping)]
    chat = _chat(steps)
    error = text_of(metadata.get("error"))
    if error:
        ended = ChatMessage(role="event", whole={"error": error}, index=max(len(steps) - 1, 0), name="tape")
        chat.append(
            replace(ended, event=StepStatus.ERROR, step_key="error", error_type="error", error_message=error)
        )
    known = [_with_call(message, calls.get(message.step_key or "")) for message in chat]
    yield from chat_records(run, known, complete=False)


def _with_call(message: ChatMessage, call: ChatMessage | None) -> ChatMessage:
    """*message* with raw output, tokens and time of the model call that it came out of."""
    if call is None:
        return message
    return replace(
        message,
        text=call.text or message.text,
        model=call.model,
        usage=call.usage,
        at_ns=call.at_ns,
        attributes={**message.attributes, **call.attributes},
    )


def _chat(steps: Sequence[Mapping[str, Any]]) -> list[ChatMessage]:
    chat: list[ChatMessage] = []
    for index, step in enumerate(steps):
        message = _message(step, index)
        before = chat[-1] if chat else None
        joined = (
            before is not None
            and before.by_model
            and message.by_model
            and message.step_key == before.step_key
        )
        if before is None or not joined or message.step_key is None:
            chat.append(message)
            continue
        texts = [text for text in (before.text, message.text) if text]
        chat[-1] = replace(
            message,
            whole={"role": "assistant", "steps": [*before.whole["steps"], *message.whole["steps"]]},
            text="\n".join(texts) or None,
            calls=before.calls + message.calls,
        )
    return chat


def _message(step: Mapping[str, Any], index: int) -> ChatMessage:
    kind, metadata = str(step.get("kind") or ""), step.get("metadata") or {}
    text = text_of(step.get("content", step.get("task")))
    whole = {key: value for key, value in step.items() if key != "tool_call_id" or value}
    here = ChatMessage(role="user", whole=whole, index=index, text=text)
    if kind in _PEOPLE or kind == "system":
        return replace(here, role="system" if kind == "system" else "user")
    if kind == "tool" or kind.endswith(_RESULTS):
        return replace(
            here, role="tool", text=text or json_text(_body(step)), answers=(_answer(step, kind, metadata),)
        )
    calls = calls_of(step)
    # what is called an answer goes to the user and ends the tape: nothing runs, nothing comes back
    if not calls and kind.endswith("_action") and not kind.endswith("answer_action"):
        calls = (ToolCall(f"step-{index}", kind.removesuffix("_action"), json_text(_body(step))),)
    prompt_id = metadata.get("prompt_id")
    return replace(
        here,
        role="assistant",
        whole={"role": "assistant", "steps": [step]},
        text=text if kind in ("assistant", "assistant_thought") else json_text({"kind": kind, **_body(step)}),
        calls=calls,
        agent=metadata.get("agent") or None,
        name=metadata.get("node") or kind,
        step_key=str(prompt_id) if prompt_id else None,
    )


def _body(step: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in step.items() if key not in _OWN}


def _answer(step: Mapping[str, Any], kind: str, metadata: Mapping[str, Any]) -> Answer:
    error, result = step.get("error"), step.get("result")
    exit_code = result.get("exit_code") if isinstance(result, Mapping) else None
    failed = bool(error) or (isinstance(exit_code, int) and exit_code != 0)
    seconds = (metadata.get("other") or {}).get("action_execution_time")
    said = text_of(error) if error else text_of(result.get("output")) if isinstance(result, Mapping) else None
    return Answer(
        step.get("tool_call_id") if kind == "tool" else None,
        step.get("content") if kind == "tool" else _body(step),
        failed=failed,
        error_type=("error" if error else "nonzero_exit") if failed else None,
        error_message=said if failed else None,
        duration_ms=seconds * 1000 if isinstance(seconds, int | float) else None,
        attributes={"exit_code": exit_code} if isinstance(exit_code, int) else {},
    )


READER = TapeAgentsReader()
