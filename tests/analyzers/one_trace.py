"""A log of one long trace, as large as wanted, for what has to work within little memory."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any


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
