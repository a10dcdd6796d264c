"""One trace that does not fit into the engine's memory gives what it gives with plenty of it."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tracekit_analyzers import frugal
from tracekit_analyzers.engine import Engine
from tracekit_analyzers.reports import as_json, result

RELATIONS = ("steps", "messages", "call_pairs", "context_changes", "leaves", "origins", "cleanliness")
TOO_LITTLE_MB = 90
PLENTY_MB = 1200


def write_one_trace(path: Path, rounds: int) -> Path:
    """A trace whose context grows with every round: about 14 kB for each."""
    chance = random.Random(5)
    words = ["".join(chance.choices("abcdefgh", k=chance.randint(3, 9))) for _ in range(800)]
    trace = {"trace_id": "7" * 32}
    sent: list[str] = []
    last = None
    with path.open("w") as stream:

        def put(**record: Any) -> None:
            stream.write(json.dumps(trace | record) + "\n")

        def message(role: str, n: int, text: str) -> str:
            name = f"{role}{n}"
            put(record="message", hash=name, role=role, message={"role": role, "content": text})
            return name

        new = [message("user", 0, "Go through all orders")]
        for n in range(rounds):
            text = " ".join(chance.choices(words, k=350)) + f" A-{chance.randint(1, 10**6)}"
            order = last if last and n % 50 else f"B-{n}{chance.randint(1000, 9999)}"
            context = {"digest": f"d{n}", "base": f"d{n - 1}" if n else None, "keep": len(sent), "hashes": new, "count": len(sent) + len(new)}  # fmt: skip
            put(record="step", step_id=f"m{n}", kind="model", name="chat", status="ok", context=context, output_snapshot=text,
                asked=[{"call_id": f"c{n}", "name": "find", "arguments": json.dumps({"order_id": order})}])  # fmt: skip
            last = f"A-{chance.randint(1, 10**6)}"
            answer = {
                "next": last,
                "lines": [{"sku": f"S-{chance.randint(1, 10**5)}", "n": k} for k in range(40)],
                "text": text,
            }
            put(record="step", step_id=f"t{n}", kind="tool", name="find", tool_name="find", call_id=f"c{n}", status="error" if n % 97 == 9 else "ok",
                input_snapshot={"order_id": order, "note": text[:300]}, output_snapshot=answer)  # fmt: skip
            sent += new
            new = [message("assistant", n, text), message("tool", n, json.dumps(answer))]
    return path


def everything(log: Path, memory_mb: int) -> dict[str, Any]:
    with Engine([log], memory_mb=memory_mb) as engine:
        engine.load()
        found: dict[str, Any] = {
            name: engine.con.execute(
                f"select count(*), cast(sum(hash(r::varchar)::hugeint) as varchar) from {name} r"
            ).fetchone()
            for name in RELATIONS
        }
        found["verdicts"] = [as_json.trace(verdict) for verdict in result.of(engine).traces]
        return found


def test_a_trace_larger_than_memory_gives_the_same_rows_and_verdicts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = write_one_trace(tmp_path / "log.jsonl", 1500)
    cut: list[int] = []
    real = frugal._look_at

    def look_at(con: duckdb.DuckDBPyConnection, first: int, last: int) -> None:
        cut.append(last)
        real(con, first, last)

    monkeypatch.setattr(frugal, "_look_at", look_at)

    plenty = everything(log, PLENTY_MB)
    assert not cut
    tight = everything(log, TOO_LITTLE_MB)

    assert cut
    assert tight == plenty
    assert plenty["verdicts"][0]["diagnoses"]


def test_what_fits_in_no_piece_is_told_and_settings_come_back() -> None:
    con = duckdb.connect(config={"memory_limit": "20MB", "threads": 2, "temp_directory": ""})
    wide = "select repeat('x', 100000000) || i as x from range(3) t(i)"

    with pytest.raises(duckdb.OutOfMemoryException):
        frugal.run(con, f"create table wide as {wide}")
    with pytest.raises(duckdb.OutOfMemoryException):
        frugal.in_pieces(
            con, f"create or replace table wide as {wide}", f"insert into wide {wide}", last_seq=100
        )

    row = con.execute(
        "select current_setting('threads'), current_setting('preserve_insertion_order'), getvariable('to_seq')"
    ).fetchone()
    assert row == (2, True, None)
