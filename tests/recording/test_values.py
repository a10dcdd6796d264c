"""Any Python value becomes strict JSON in the log, unchanged, with its neighbours unharmed."""

from __future__ import annotations

import dataclasses
import enum
import json
import math
import sys
import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any
from uuid import UUID

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, SecretStr

from tracekit import config
from tracekit.recording import setup
from tracekit.recording.recorder import recorder
from tracekit.recording.values import write_blob
from tracekit.snapshot import log_bytes, to_log

Steps = Callable[[], list[dict[str, Any]]]


class Colour(enum.Enum):
    RED = "red"


class Order(BaseModel):
    order_id: str
    key: SecretStr = SecretStr("hidden")


@dataclasses.dataclass
class Line:
    sku: str
    price: Decimal


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")


class Liar(dict[str, Any]):
    def items(self) -> Any:
        raise RuntimeError("no items")


class Text(str):
    pass


def deep(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


def circle() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["self"] = value
    return value


def generator() -> Any:
    yield from (1, 2)


HOSTILE: dict[str, Any] = {
    "nan": math.nan,
    "infinity": -math.inf,
    "bytes": b"\x00\xff",
    "datetime": datetime(2026, 11, 30, tzinfo=UTC),
    "date": date(2026, 11, 30),
    "time": time(8, 1),
    "timedelta": timedelta(seconds=1.5),
    "decimal": Decimal("99.50"),
    "uuid": UUID(int=7),
    "set": {"b", "a"},
    "dataclass": Line("A-1", Decimal("1.10")),
    "pydantic": Order(order_id="A-1"),
    "exception": ValueError("bad amount"),
    "enum": Colour.RED,
    "cycle": circle(),
    "too_deep": deep(2000),
    "int": 2**63,
    "text": "emoji \ud83e half",
    "object": Unprintable(),
    "unreadable": Liar(a=1),
    "map": {1: "a", (2,): "b"},
    "path": PurePosixPath("/x"),
    "complex": 1 + 2j,
    "str": Text("sub"),
    "generator": generator(),
    "lambda": lambda: None,
    "class": Line,
    "module": sys,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_value_is_strict_json_with_its_type_and_does_not_spoil_its_neighbour(name: str) -> None:
    data = log_bytes({"before": 1, "value": HOSTILE[name], "after": [1.5, "x"]})

    told = orjson.loads(data)
    assert (told["before"], told["after"]) == (1, [1.5, "x"])
    kinds = {"nan": "float", "infinity": "float", "generator": "object", "lambda": "object", "class": "object",
             "module": "object"}  # fmt: skip
    text = json.dumps(told["value"])
    assert f'"type": "{kinds.get(name, name)}"' in text


def test_markers_say_what_is_known() -> None:
    told = to_log(HOSTILE)

    assert told["decimal"] == {"$tk": {"type": "decimal", "value": "99.50"}}
    assert told["bytes"] == {"$tk": {"type": "bytes", "base64": "AP8="}}
    assert told["nan"] == {"$tk": {"type": "float", "value": "NaN"}}
    assert told["int"] == {"$tk": {"type": "int", "value": "9223372036854775808"}}
    assert json.loads(told["text"]["$tk"]["json"]) == HOSTILE["text"]
    assert told["set"]["$tk"]["items"] == ["a", "b"]
    assert told["dataclass"]["$tk"]["fields"]["price"] == {"$tk": {"type": "decimal", "value": "1.10"}}
    assert told["exception"]["$tk"] == {"type": "exception", "class": "ValueError", "message": "bad amount"}
    assert told["map"]["$tk"]["items"] == [[1, "a"], [[2], "b"]]
    assert "hidden" not in str(told["pydantic"])
    assert "no repr" not in str(told["object"])
    assert "RuntimeError" in told["object"]["$tk"]["repr"]


def test_lists_mappings_and_other_containers_are_shown_without_being_used_up() -> None:
    given_generator = generator()
    to_log([given_generator])

    assert list(given_generator) == [1, 2]
    assert to_log((1, (2,))) == [1, [2]]
    assert to_log(OrderedDict(a=1)) == to_log(MappingProxyType({"a": 1})) == {"a": 1}
    assert "deque" in str(to_log(deque([1])))


def test_a_shared_value_is_no_circle() -> None:
    shared = [1]

    assert to_log([shared, shared]) == [[1], [1]]


def test_a_huge_whole_number_takes_no_time_and_raises_nothing() -> None:
    assert len(log_bytes(10**50_000)) > 40_000


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary()
    | st.decimals()
    | st.dates(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner) | st.tuples(inner, inner)
    ),
    max_leaves=25,
)


@given(anything)
def test_whatever_comes_the_log_gets_one_line_of_strict_json(value: Any) -> None:
    data = log_bytes(value)

    assert b"\n" not in data
    orjson.loads(data)


plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text().filter(lambda key: key != "$tk"), inner),
    max_leaves=25,
)  # fmt: skip


@given(plain)
def test_plain_json_is_written_as_it_is(value: Any) -> None:
    assert orjson.loads(log_bytes(value)) == value
    assert to_log(value) == value


def test_a_value_that_another_thread_changes_meanwhile_is_told_and_not_raised() -> None:
    class Changing(dict[str, int]):
        def items(self) -> Any:
            for item in list(super().items()):
                self["more" + item[0]] = 1
                yield item
            raise RuntimeError("dictionary changed size during iteration")

    assert "changed size" in str(to_log(Changing(a=1)))


def test_hostile_input_output_and_errors_give_whole_lines(steps: Steps) -> None:
    class Odd(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no str")

    step = recorder().begin(
        "tool", "name \ud83e", input=HOSTILE, call_id="\ud83e", attributes={"x": math.nan}
    )
    step.finish("error", output=HOSTILE, error=Odd("x"), usage={"input_tokens": math.nan})

    (told,) = steps()
    assert told["error_message"].endswith("<locals>.Odd failed: RuntimeError>")
    assert told["input_snapshot"]["decimal"] == told["output_snapshot"]["decimal"]


def test_a_value_of_30_megabytes_stands_in_a_file_of_its_own(home: Path, steps: Steps) -> None:
    big = "x" * 30_000_000
    recorder().begin("tool", "read", input=big).finish(output={"again": big})

    (told,) = steps()
    known = told["input_snapshot"]["$tk"]
    assert known["type"] == "blob"
    assert known["bytes"] == 30_000_002
    assert json.loads((home / "blobs" / known["hash"]).read_bytes()) == big
    (log,) = (home / "traces").iterdir()
    assert log.stat().st_size < 5_000


def test_the_size_from_which_values_move_out_can_be_set(
    tmp_path: Path, lines_of: Callable[[Path], Any]
) -> None:
    setup.init(home=tmp_path, blob_bytes=100)
    recorder().begin("step", "s", input="x" * 90).finish(output="x" * 110)
    setup.shutdown()
    config.reset()

    start, end = [line for line in lines_of(tmp_path) if line["record"] == "step"]
    assert start["input_snapshot"] == "x" * 90
    assert end["output_snapshot"]["$tk"]["type"] == "blob"


def test_a_log_grows_by_new_messages_only(home: Path) -> None:
    messages: list[dict[str, Any]] = [{"role": "system", "content": "You are careful. " * 40}]
    written = len(json.dumps(messages[0]))
    run = recorder().begin("agent", "run")
    with run.active():
        for turn in range(300):
            user = {"role": "user", "content": f"turn {turn}: " + "please look up the order " * 20}
            reply = f"answer {turn}: " + "the order was sent " * 10
            messages.append(user)
            step = recorder().begin("model", "ask", messages=messages, model="m-1")
            step.finish(raw=reply)
            messages.append({"role": "assistant", "content": reply})
            written += len(json.dumps(user)) + len(json.dumps(messages[-1]))
    run.finish()

    (log,) = (home / "traces").iterdir()
    assert log.stat().st_size <= 1.5 * written + 300 * 2048


def test_what_is_switched_off_is_not_written(tmp_path: Path, lines_of: Callable[[Path], Any]) -> None:
    setup.init(
        home=tmp_path, capture_input=False, capture_output=False, capture_messages=False, capture_stack=False
    )
    step = recorder().begin("model", "m", input="IN", raw="IN", messages=[{"role": "user", "content": "IN"}])
    step.finish(
        "error", output="OUT", raw="OUT", error=ValueError("kept"), asked=[{"name": "t", "arguments": "OUT"}]
    )
    setup.shutdown()
    config.reset()

    text = json.dumps(lines_of(tmp_path))
    assert "IN" not in text
    assert "OUT" not in text
    assert "kept" in text
    assert "error_stack" not in text
    assert '"count": 1' in text


def test_threads_that_hold_one_large_value_write_it_whole(tmp_path: Path) -> None:
    data = b"x" * 2_000_000
    at_once = threading.Barrier(4)

    def write(name: str) -> None:
        at_once.wait()
        write_blob(tmp_path, name, data)
        assert (tmp_path / name).stat().st_size == len(data)

    with ThreadPoolExecutor(4) as pool:
        for round_ in range(40):
            list(pool.map(write, [f"blob{round_}"] * 4))

    assert {path.name for path in tmp_path.iterdir()} == {f"blob{round_}" for round_ in range(40)}
