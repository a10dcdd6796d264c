"""Writes the native log of a case: a case names steps shortly, the log has every field that a recorder would write."""

from __future__ import annotations

import json
from hashlib import blake2b
from pathlib import Path
from typing import Any

from tracekit.snapshot import context_digest

Case = dict[str, Any]

PROCESS = "00000000000000aa"


def hex_id(name: str, digits: int) -> str:
    """The id that *name* has in a written log."""
    return blake2b(name.encode(), digest_size=digits // 2).hexdigest()


def trace_of(name: str) -> str:
    """The trace id of the run called *name*."""
    return hex_id("trace " + name, 32)


def step_of(trace: str, step: str) -> str:
    """The step id of *step* in the run called *trace*."""
    return hex_id(f"step {trace} {step}", 16)


def write(case: Case, folder: Path) -> Path:
    """
    Write the log of *case*: the run itself, called `case`, and its `history`, good runs from which tools are known.

    A case that is `killed` has a process line at the start and none at the end.
    """
    lines = [_process("start")] if case.get("killed") or case.get("exited") else []
    history = case.get("history", {})
    for number in range(history.get("times", 0)):
        lines += _run({"steps": history["steps"]}, f"history {number}", number)
    lines += _run(case, "case", 1000)
    if case.get("exited"):
        lines.append(_process("exit"))
    path = folder / "case.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def _process(event: str) -> dict[str, Any]:
    return {
        "record": "process", "event": event, "schema": "tracekit.log/1", "service": "case", "host": "h", "boot_id": "b",
        "pid": 1, "process_id": PROCESS, "started_at": "2026-01-01T00:00:00.000000Z", "at": "2026-01-01T00:00:00.000000Z",
        "versions": {}, "redaction": {},
    }  # fmt: skip


def _run(case: Case, trace: str, number: int) -> list[dict[str, Any]]:
    lines = []
    hashes = {}
    for name, (role, content, *call_id) in case.get("messages", {}).items():
        message = {"role": role, "content": content, **({"tool_call_id": call_id[0]} if call_id else {})}
        hashes[name] = hex_id(f"message {name}", 32)
        lines.append({"record": "message", "trace_id": trace_of(trace), "hash": hashes[name], "role": role, "message": message})  # fmt: skip
    for seq, short in enumerate(case["steps"], start=1):
        lines.append(_step(short, trace, seq, number, hashes, bool(case.get("killed") or case.get("exited"))))
    return lines


def _step(
    short: dict[str, Any], trace: str, seq: int, number: int, hashes: dict[str, str], with_process: bool
) -> dict[str, Any]:
    fields = {key: value for key, value in short.items() if key not in _SHORT}
    name = short.get("tool") or short.get("name") or short.get("kind", "model")
    step: dict[str, Any] = {
        "record": "step",
        "trace_id": trace_of(trace),
        "step_id": step_of(trace, short["id"]),
        "seq": seq,
        "kind": short.get("kind", "tool" if "tool" in short else "model"),
        "name": name,
        "status": "ok",
    }
    if "at" in short:
        began, ended = short["at"]
        step |= {"started_at": _time(number, began)}
        if ended is not None:
            step |= {"finished_at": _time(number, ended), "duration_ms": (ended - began) * 1000}
    if with_process:
        step["process_id"] = PROCESS
    if "tool" in short:
        step["tool_name"] = short["tool"]
    for short_name, long_name in (("call", "call_id"), ("input", "input_snapshot"), ("output", "output_snapshot"), ("raw", "model_raw_output")):  # fmt: skip
        if short_name in short:
            step[long_name] = short[short_name]
    if "under" in short:
        step["parent_step_id"] = step_of(trace, short["under"])
    if "needs" in short:
        step["depends_on"] = [step_of(trace, needed) for needed in short["needs"]]
    if "asked" in short:
        step["asked"] = [{"call_id": c, "name": n, "arguments": a} for c, n, a in short["asked"]]
    if "sent" in short:
        sent = [hashes[name] for name in short["sent"]]
        step["context"] = {"digest": context_digest(sent), "count": len(sent), "base": None, "keep": 0, "hashes": sent, "complete": True}  # fmt: skip
    return step | fields


def _time(number: int, seconds: float) -> str:
    return f"2026-01-01T{number // 60 % 24:02d}:{number % 60:02d}:{int(seconds):02d}.{int(seconds % 1 * 1e6):06d}Z"


_SHORT = {
    "id",
    "tool",
    "kind",
    "name",
    "at",
    "call",
    "input",
    "output",
    "raw",
    "under",
    "needs",
    "asked",
    "sent",
}
