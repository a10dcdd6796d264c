"""A log of many traces for the engines: every case of every failure class, over and over, as recorders of several processes write it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.analyzers.case_log import hex_id, write
from tracekit.snapshot import context_digest

CASES = Path(__file__).parent / "cases"
Record = dict[str, Any]


def write_log(folder: Path, *, steps: int, files: int = 5, salt: str = "") -> int:
    """
    Write at least *steps* steps into *files* files of *folder*; returns how many there are.

    A message stands once in a file, as a recorder writes it, so most traces name messages that another one brought.
    The process of the last file was killed: it leaves steps open. That of the second tells lines that it lost. Traces of another *salt* are other traces.
    """
    folder.mkdir(parents=True, exist_ok=True)
    templates = list(_templates())
    written = copy = 0
    outs = [(folder / f"agents-{place}.jsonl").open("w", encoding="utf-8") for place in range(files)]
    seen: list[set[str]] = [set() for _ in outs]
    for place, out in enumerate(outs):
        out.write(json.dumps(_process(place, "start")) + "\n")
    while written < steps:
        for number, template in enumerate(templates):
            place = (copy + number) % files
            written += _put(outs[place], _renamed(template, f"{salt} {number} {copy}", place), seen[place])
        for place, out in enumerate(outs):
            written += _put(out, _talk(copy, place, salt), seen[place])
        copy += 1
    for out in outs[1:2]:
        out.write(json.dumps({"record": "drops", "count": 7, "reason": "No space left on device"}) + "\n")
    for place, out in enumerate(outs[:-1]):
        out.write(json.dumps(_process(place, "exit")) + "\n")
    for out in outs:
        out.close()
    return written


def _templates() -> Iterator[str]:
    """The lines of each case without those of its process."""
    for path in sorted(CASES.glob("*/*.json")):
        case = json.loads(path.read_text(encoding="utf-8"))
        case.pop("killed", None)
        with TemporaryDirectory() as folder:
            lines = write(case, Path(folder)).read_text(encoding="utf-8").splitlines()
        yield "\n".join(line for line in lines if json.loads(line)["record"] != "process")


def _renamed(template: str, copy: str, place: int) -> list[Record]:
    """The lines as other traces of the process of file *place*; messages keep their hashes."""
    records = [json.loads(line) for line in template.splitlines()]
    for record in records:
        record["trace_id"] = hex_id(f"{record['trace_id']} {copy}", 32)
        if record["record"] == "step":
            record["process_id"] = _process_id(place)
    return records


def _talk(copy: int, place: int, salt: str) -> list[Record]:
    """A trace whose first context goes on from the last one of another trace in the same file."""
    trace = hex_id(f"talk {salt} {copy} {place}", 32)
    messages = [
        ("system", "You answer questions about orders."),
        *(("user", f"Order {n}, please.") for n in range(copy + 1)),
    ]
    hashes = [hex_id(f"{role} {text}", 32) for role, text in messages]
    before = hashes[:-1]
    records: list[Record] = [
        {
            "record": "message",
            "trace_id": trace,
            "hash": name,
            "role": role,
            "message": {"role": role, "content": text},
        }
        for name, (role, text) in zip(hashes, messages, strict=True)
    ]
    context = {
        "digest": context_digest(hashes), "count": len(hashes), "base": context_digest(before) if copy else None,
        "keep": len(before) if copy else 0, "hashes": hashes[len(before) :] if copy else hashes, "complete": True,
    }  # fmt: skip
    step = {"record": "step", "trace_id": trace, "process_id": _process_id(place), "status": "ok"}
    records.append(
        step | {"step_id": hex_id(f"{trace} model", 16), "seq": 1, "kind": "model", "name": "chat", "context": context,
                "asked": [{"call_id": "c1", "name": "find_order", "arguments": json.dumps({"order_id": f"Z-{copy}"})}]}
    )  # fmt: skip
    records.append(
        step | {"step_id": hex_id(f"{trace} tool", 16), "seq": 2, "kind": "tool", "name": "find_order", "tool_name": "find_order",
                "call_id": "c1", "input_snapshot": {"order_id": f"Z-{copy}"}, "status": "error", "error_type": "NotFound",
                "error_message": f"no such order Z-{copy}"}
    )  # fmt: skip
    if copy % 3 == 0:
        records.append(
            step | {"step_id": hex_id(f"{trace} last", 16), "seq": 3, "kind": "tool", "name": "notify", "status": "running",
                    "tool_name": "notify", "input_snapshot": {"order": copy}}
        )  # fmt: skip
    return records


def _put(out: Any, records: list[Record], seen: set[str]) -> int:
    steps = 0
    for record in records:
        if record["record"] == "message":
            if record["hash"] in seen:
                continue
            seen.add(record["hash"])
        else:
            steps += 1
        out.write(json.dumps(record, ensure_ascii=False) + "\n")
    return steps


def _process_id(place: int) -> str:
    return f"{place + 1:016x}"


def _process(place: int, event: str) -> Record:
    at = "2026-01-01T00:00:00.000000Z"
    return {"record": "process", "event": event, "schema": "tracekit.log/1", "service": "agents", "host": "h", "boot_id": "b",
            "pid": place + 1, "process_id": _process_id(place), "started_at": at, "at": at}  # fmt: skip
