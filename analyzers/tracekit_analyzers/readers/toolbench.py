"""
ToolBench answers: a search tree of thoughts, actions and their inputs, with an outcome code at each call.

The index is the position in pre-order. What the model was sent at a node is the way down to it, not what came before it
in the file: other branches were not shown to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from tracekit.model import StepStatus, ToolCall
from tracekit_analyzers.model import DamageReport, InputFile, NativeRecord
from tracekit_analyzers.readers._chat import Answer, ChatMessage, chat_records
from tracekit_analyzers.readers._openai import chat_message
from tracekit_analyzers.readers._run import Run
from tracekit_analyzers.readers._source import never_silent, odd_is_not_ours, peek, whole

_CODES = {
    1: "unknown tool",
    2: "bad_input",
    5: "timeout",
    6: "not_found",
    7: "unauthorized",
    8: "not_subscribed",
    9: "too_many_requests",
    10: "rate_limit",
    11: "error_message",
    12: "request_failed",
}
"""ToolBench's names for what became of a call; 0 is good, 3 gave the answer, 4 gave up."""

_GAVE_UP = 4

_Node = Mapping[str, Any]


class ToolBenchReader:
    """Reads an answer as one run."""

    name = "toolbench"
    title = "ToolBench answer tree"

    @odd_is_not_ours
    def sniff(self, file: InputFile) -> int:
        """90 when the top object has a tree of nodes with `node_type`."""
        top = peek(file.head)
        tree = top.get("tree") if isinstance(top, Mapping) else None
        root = tree.get("tree") if isinstance(tree, Mapping) else None
        return 90 if isinstance(root, Mapping) and "node_type" in root else 0

    @never_silent
    def read(self, file: InputFile, damage: DamageReport) -> Iterator[NativeRecord]:
        """Records in pre-order."""
        top = whole(file, damage) or {}
        chat = [replace(message, index=0, step_key=f"prompt-{n}") for n, message in enumerate(_prompts(top))]
        root = (top.get("tree") or {}).get("tree")
        if isinstance(root, Mapping):
            _walk(root, chat)
        yield from chat_records(Run(file), chat)


def _prompts(top: Mapping[str, Any]) -> list[ChatMessage]:
    """System and user message of the first conversation, the ones before anything that the model said."""
    generation = top.get("answer_generation") or {}
    conversations = generation.get("train_messages") or [[]]
    found: list[ChatMessage] = []
    for raw in conversations[0] if isinstance(conversations[0], list) else ():
        if not isinstance(raw, Mapping) or raw.get("role") not in ("system", "user"):
            break
        found.append(chat_message(raw, 0))
    if not found and generation.get("query"):
        found.append(chat_message({"role": "user", "content": generation["query"]}, 0))
    return found


def _walk(root: _Node, chat: list[ChatMessage]) -> None:
    """
    Add the messages of every node of the tree to *chat*.

    A stack stands for recursion: trees are as deep as their longest try. Each entry has what was on the way to the node:
    positions in *chat*, the thought that is not said yet, the tool that was chosen.
    """
    stack: list[tuple[_Node, tuple[int, ...], str | None, str | None]] = [
        (root, tuple(range(len(chat))), None, None)
    ]
    index = 0
    while stack:
        node, way, thought, tool = stack.pop()
        kind, said = node.get("node_type"), str(node.get("description") or "")
        children = [child for child in node.get("children") or () if isinstance(child, Mapping)]
        if kind == "Thought":
            thought = said
            if not any(child.get("node_type") == "Action" for child in children):
                chat.append(_said(index, said, way))
                way, thought = (*way, len(chat) - 1), None
        elif kind == "Action":
            tool = said
        elif tool is not None:
            chat += _called(node, index, way, thought, tool)
            way, thought, tool = (*way, len(chat) - 2, len(chat) - 1), None, None
        index += 1
        stack.extend((child, way, thought, tool) for child in reversed(children))


def _said(index: int, text: str, way: tuple[int, ...]) -> ChatMessage:
    whole_message = {"role": "assistant", "content": text}
    return ChatMessage(role="assistant", whole=whole_message, index=index, text=text, sent=way)


def _called(
    node: _Node, index: int, way: tuple[int, ...], thought: str | None, tool: str
) -> Iterator[ChatMessage]:
    raw, observation = str(node.get("description") or ""), node.get("observation")
    call = ToolCall(f"node-{index}", tool, raw)
    function = {"name": tool, "arguments": raw}
    # the node tells apart the same call in two branches
    said = {"role": "assistant", "content": thought, "function_call": function, "node": index}
    yield ChatMessage(role="assistant", whole=said, index=index, text=thought, calls=(call,), sent=way)
    code = node.get("observation_code")
    error_type = _CODES.get(code) if isinstance(code, int) else None
    answer = Answer(
        call.call_id,
        observation,
        status=StepStatus.ABANDONED if code == _GAVE_UP else None,
        failed=error_type is not None,
        error_type=error_type,
        error_message=str(observation) if error_type is not None else None,
        attributes={"observation_code": code} if code is not None else {},
    )
    told = {"role": "tool", "name": tool, "content": observation, "node": index}
    answers = (answer,) if observation is not None or code is not None else ()
    yield ChatMessage(role="tool", whole=told, index=index, text=str(observation or ""), answers=answers)


READER = ToolBenchReader()
