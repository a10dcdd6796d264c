"""Logs of any number of steps in which each step meets all others somewhere: what would make a product of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

Record = dict[str, Any]


def call(number: int, **fields: Any) -> Record:
    """A good call of a tool `k`, step `s<number>` of trace `t`, where *fields* say nothing else."""
    head = {
        "record": "step",
        "trace_id": "t",
        "step_id": f"s{number}",
        "kind": "tool",
        "tool_name": "k",
        "status": "ok",
    }
    return {**head, **fields}


def said(number: int, text: str, **fields: Any) -> Record:
    """A model step that said *text*."""
    return call(number, **{"kind": "model", "tool_name": None, "model_raw_output": text, **fields})


def message(name: str, role: str, text: str, trace: str = "t") -> Record:
    return {"record": "message", "trace_id": trace, "hash": name, "role": role, "message": {"role": role, "content": text}}  # fmt: skip


def sent(number: int, names: list[str]) -> Record:
    """The context of a model step."""
    return {"digest": f"d{number}", "count": len(names), "base": None, "keep": 0, "hashes": names, "complete": True}  # fmt: skip


def _invented(count: int) -> list[Record]:
    records = [call(0, kind="task", input_snapshot="do it", tool_name=None)]
    for n in range(1, count):
        about = f"see ord_{500000 + n} now"
        if n % 2:
            made = {"order_id": f"ord_{500000 + n}", "about": about}
            records.append(call(n, input_snapshot={"order_id": f"ord_{100000 + n}"}, output_snapshot=made))
        else:
            records.append(call(n, input_snapshot={"order_id": f"ord_{500000 + n - 1}"}, output_snapshot={}))
    return records


def _without_its_sign(count: int) -> list[Record]:
    records = [call(0, kind="task", input_snapshot="do it", tool_name=None)]
    for n in range(1, count):
        if n % 2:
            given = {"text": f"there is W{100000 + n + 2} and x#W{100000 + n}y"}
            records.append(call(n, input_snapshot={"order_id": f"#W{100000 + n}"}, output_snapshot=given))
        else:
            made = {"order_id": f"#W{300000 + n + 2}"}
            records.append(call(n, input_snapshot={"order_id": f"#W{300000 + n}"}, output_snapshot=made))
    return records


def _asked_again(count: int) -> list[Record]:
    records = [call(0, tool_name="ask", input_snapshot={"q": "all"}, output_snapshot={"price": "v1001"})]
    for n in range(1, count):
        if n % 2:
            records.append(call(n, tool_name="ask", input_snapshot={"q": "all"}, output_snapshot={"price": f"v{2000 + n}"}))  # fmt: skip
        else:
            records.append(call(n, tool_name="use", input_snapshot={"price": "v1001"}))
    return records


def _things_of_one_owner(count: int) -> list[Record]:
    records = []
    for n in range(count):
        order = n % (count // 4)
        ids = {"order_id": f"o{order}", "user_id": "u7"}
        if n < count // 4:
            records.append(call(n, tool_name="get", input_snapshot={"n": f"q{n}"}, output_snapshot={**ids, "price": f"{1000 + n}"}))  # fmt: skip
        elif n < count // 2:
            rows = [{**ids, "price": f"{900000 + n}"}]
            records.append(call(n, tool_name="list", input_snapshot={"n": f"q{n}"}, output_snapshot={"rows": rows}))  # fmt: skip
        else:
            records.append(call(n, tool_name="use", input_snapshot={"price": f"{1000 + order}"}))
    return records


def _one_thing_told_often(count: int) -> list[Record]:
    records = [call(0, tool_name="get", input_snapshot={"n": "q"}, output_snapshot={"order_id": "o1", "price": "1001"})]  # fmt: skip
    for n in range(1, count):
        if n % 2:
            rows = [{"order_id": "o1", "price": f"{900000 + n}"}]
            records.append(call(n, tool_name="list", input_snapshot={"n": f"q{n}"}, output_snapshot={"rows": rows}))  # fmt: skip
        else:
            records.append(call(n, tool_name="use", input_snapshot={"price": "1001"}))
    return records


def _closed_off(count: int) -> list[Record]:
    order = {"order_id": "A-100"}
    records = []
    for n in range(count):
        if n % 4 == 3:
            records.append(said(n, "Unfortunately it was modified: that has already been done and cannot be undone."))  # fmt: skip
        elif n > count // 2:
            refused = {"status": "error", "error_message": "order is not pending"}
            records.append(call(n, tool_name="cancel_order", input_snapshot={**order, "n": n}, **refused))
        elif n % 4 == 0:
            records.append(call(n, tool_name="get_order", input_snapshot=order, output_snapshot={**order, "status": "pending"}))  # fmt: skip
        else:
            records.append(call(n, tool_name="modify_order", input_snapshot={**order, "n": n}, output_snapshot={}))  # fmt: skip
    return [*records, call(count, tool_name="transfer_to_human_agents", input_snapshot={})]


def _failed_and_done_on_one_object(count: int) -> list[Record]:
    records = []
    for n in range(count):
        order = {"order_id": "A-100", "n": n}
        if n % 2:
            records.append(call(n, tool_name="get_order", input_snapshot=order, output_snapshot={"a": 1}))
        else:
            records.append(call(n, tool_name="pay_order", input_snapshot=order, status="error", error_message="connection reset by peer"))  # fmt: skip
    return [*records, said(count, "I could not pay the order.")]


def _window_that_slides(count: int) -> list[Record]:
    records, names = [], list[str]()
    for n in range(count):
        role = "system" if n == 0 else "assistant" if n % 2 else "user"
        names.append(f"h{n}")
        records.append(message(f"h{n}", role, f"message {n}"))
        window = names[-12:-4] if n % 3 == 0 and n > 10 else names[-8:]
        records.append(said(n, f"message {n + 1}", context=sent(n, names[:1] + window)))
    return records


def _shortened_on_purpose(count: int) -> list[Record]:
    records, names = [], list[str]()
    for n in range(count // 2):
        names.append(f"h{n}")
        records.append(message(f"h{n}", "user" if n else "system", f"message {n}"))
        records.append(said(2 * n, f"message {n + 1}", context=sent(n, names[:1] + names[-8:])))
        records.append(call(2 * n + 1, kind="step", tool_name=None, name="trim history"))
    return records


def _never_answered(count: int) -> list[Record]:
    asked = [said(n, "x", asked=[{"call_id": f"c{n}", "name": "go", "arguments": "{}"}]) for n in range(count)]  # fmt: skip
    return [*asked, call(count, tool_name="other", output_snapshot="fine", call_id="z")]


def _complaints(count: int) -> list[Record]:
    records = []
    for n in range(count):
        records.append(message(f"h{n}", "user", f"Format error: please try {n}"))
        records.append(said(n, f"answer {n}", context=sent(n, [f"h{n}"])))
    return records


def _missing_fields(count: int) -> list[Record]:
    failed = {"kind": "step", "tool_name": None, "name": "read", "status": "error", "error_type": "KeyError", "error_message": "'answer'"}  # fmt: skip
    return [said(n, f"answer {n}") if n % 2 else call(n, **failed) for n in range(count)]


def _slow_calls_and_limits(count: int) -> list[Record]:
    records = []
    for n in range(count):
        asked = {"tool_name": "a", "input_snapshot": {"n": n}}
        if n % 8 < 6:
            records.append(call(n, duration_ms=100, output_snapshot={"a": 1}, **asked))
        elif n % 8 == 6:
            records.append(call(n, duration_ms=60000 + n, output_snapshot={"a": 1}, **asked))
        else:
            records.append(call(n, tool_name="b", input_snapshot={"n": n}, status="error", error_message="timed out"))  # fmt: skip
    return records


def _called_wrongly(count: int) -> list[Record]:
    failed = {"tool_name": "fetch_it", "status": "error", "error_type": "TypeError", "error_message": "fetch() missing 1 required positional argument: 'a'"}  # fmt: skip
    return [said(n, "now fetch_it is fine") if n % 2 else call(n, input_snapshot={"n": n}, **failed) for n in range(count)]  # fmt: skip


def _one_prompt_in_all_traces(count: int) -> list[Record]:
    records = []
    for n in range(count):
        records.append(message("h", "system", "You help.", trace=f"t{n}"))
        records.append(said(n, "a", trace_id=f"t{n}", context=sent(0, ["h"])))
    return records


def _many_calls_in_one_answer(count: int) -> list[Record]:
    asked = [{"call_id": None, "name": "go", "arguments": json.dumps({"n": n})} for n in range(count)]
    calls = [call(n + 1, tool_name="go", input_snapshot={"n": -n - 1}, output_snapshot={}) for n in range(count)]  # fmt: skip
    return [said(0, "x", asked=asked), *calls]


def _table_that_is_written(count: int) -> list[Record]:
    def rows(letter: str) -> list[Record]:
        return [{"key": f"k{n % 10}", "value": f"{letter}{n}"} for n in range(count)]

    return [
        call(0, tool_name="set", input_snapshot=rows("v"), output_snapshot={}),
        call(1, tool_name="set", input_snapshot=rows("w"), output_snapshot={}),
        *(call(2 + n, tool_name="use", input_snapshot=[f"v{n}"]) for n in range(count)),
    ]


def _wide_object(count: int) -> list[Record]:
    ids = {f"a{n}_id": f"o{n}" for n in range(count)} | {f"p{n}": f"x{1000 + n}" for n in range(count)}
    return [
        call(0, tool_name="get", input_snapshot={"n": "q"}, output_snapshot=ids),
        call(1, tool_name="other", input_snapshot={"z": "q"}, output_snapshot={"z": 1}),
        call(2, tool_name="use", input_snapshot=[f"x{1000 + n}" for n in range(count)]),
    ]


def _wide_arguments(count: int) -> list[Record]:
    written = json.dumps({f"k{n}": f"w{n}" for n in range(count)})
    return [call(0, input_snapshot={f"k{n}": f"v{n}" for n in range(count)}, model_raw_output=written)]


def _many_keys_missing(count: int) -> list[Record]:
    good = [call(n, input_snapshot={f"k{key}": key for key in range(count // 20)}, output_snapshot={}) for n in range(8)]  # fmt: skip
    bad = {f"q{key}": key for key in range(count // 20)}
    return [*good, *(call(8 + n, input_snapshot=bad, status="error", error_message="it broke somehow") for n in range(40))]  # fmt: skip


LOGS: dict[Callable[[int], list[Record]], tuple[str, float]] = {
    _invented: ("parameter.unknown_reference", 1 / 3),
    _without_its_sign: ("parameter.unknown_reference", 1 / 4),
    _asked_again: ("context.stale_value", 1 / 3),
    _things_of_one_owner: ("context.stale_value", 1 / 3),
    _one_thing_told_often: ("context.stale_value", 1 / 3),
    _wide_object: ("context.stale_value", 0),
    _closed_off: ("orchestration.dependency", 1 / 3),
    _failed_and_done_on_one_object: ("timeout.unavailable", 1 / 3),
    _window_that_slides: ("context.truncated", 1 / 5),
    _shortened_on_purpose: ("context.truncated", 0),
    _never_answered: ("context.missing_result", 1 / 2),
    _complaints: ("output.unparseable", 1 / 2),
    _missing_fields: ("output.missing_field", 1 / 3),
    _slow_calls_and_limits: ("timeout.slow", 1 / 10),
    _called_wrongly: ("parameter.generated", 1 / 3),
    _one_prompt_in_all_traces: ("context.truncated", 0),
    _many_calls_in_one_answer: ("orchestration.unanswered", 0),
    _table_that_is_written: ("context.overwritten", 1 / 2),
    _wide_arguments: ("parameter.altered", 0),
    _many_keys_missing: ("parameter.generated", 0),
}
"""Each with the class that has to look closest at it, and the least share of its steps that this class finds."""
