"""What an analysis does grows with its log, not with the square of it; and what bounds it changes no answer."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from tracekit_analyzers import failures
from tracekit_analyzers.engine import Engine
from tracekit_analyzers.relations import statement

Record = dict[str, Any]


def call(number: int, **fields: Any) -> Record:
    head = {
        "record": "step",
        "trace_id": "t",
        "step_id": f"s{number}",
        "kind": "tool",
        "tool_name": "k",
        "status": "ok",
    }
    return {**head, **fields}


def related(path: Path, records: list[Record]) -> Engine:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    engine = Engine([path], diagnose=False)
    engine.load()
    return engine


def rows_moved(engine: Engine, sql: str) -> int:
    """Rows that all operators of a statement hand on."""
    ((_, plan),) = engine.con.execute("explain (analyze, format json) " + sql).fetchall()
    open_ones, moved = list(json.loads(plan)["operator"]), 0
    while open_ones:
        node = open_ones.pop()
        moved += node["intermediate_rows"]
        open_ones += node.get("children", [])
    return moved


@pytest.mark.parametrize(("steps", "values"), [(1, 4), (4, 1)], ids=["more values in a step", "more steps"])
def test_one_value_in_every_step_makes_work_that_grows_with_the_log(
    tmp_path: Path, steps: int, values: int
) -> None:
    def work(count: int, wide: int) -> int:
        said = {"list": ["x7"] * wide}
        records = [call(n, input_snapshot=said, output_snapshot=said) for n in range(count)]
        with related(tmp_path / "log.jsonl", records) as engine:
            return rows_moved(engine, statement("origins"))

    small, large = work(40, 20), work(40 * steps, 20 * values)

    assert small > 40 * 20
    assert large < 6 * small


def judging(path: Path, code: str, records: list[Record]) -> tuple[int, int]:
    """Rows that a failure class finds in *records*, and rows that its statement moves."""
    (kind,) = (kind for kind in failures.classes() if kind.code == code)
    with related(path, records) as engine:
        for sql in failures.PRELUDE:
            engine.con.execute(sql)
        return len(engine.con.execute(kind.sql).fetchall()), rows_moved(engine, kind.sql.rstrip("; \n"))


def test_writes_side_by_side_make_work_that_grows_with_the_log(tmp_path: Path) -> None:
    times = {"started_at": "2026-01-01T00:00:00Z", "finished_at": "2026-01-01T01:00:00Z"}

    def work(count: int) -> int:
        records = [
            call(n, tool_name="write_file", input_snapshot={"path": f"p{n % (count // 20)}", "v": n}, **times)
            for n in range(count)
        ]
        found, moved = judging(tmp_path / "log.jsonl", "orchestration.conflict", records)
        assert found == count - count // 20
        return moved

    assert work(800) < 6 * work(200)


def test_a_name_that_is_given_values_in_turn_makes_work_that_grows_with_the_log(tmp_path: Path) -> None:
    def work(count: int) -> int:
        records = [
            call(n, tool_name="use", input_snapshot={"with": "v1"})
            if n % 2
            else call(n, tool_name="set", input_snapshot={"key": "k", "value": f"v{n // 2 % 2}"})
            for n in range(count)
        ]
        found, moved = judging(tmp_path / "log.jsonl", "context.overwritten", records)
        assert found > count // 3
        return moved

    assert work(800) < 6 * work(200)


def test_an_argument_has_its_latest_answer_that_was_there_when_its_call_began(tmp_path: Path) -> None:
    chance = random.Random(7)
    records = []
    for number in range(300):
        begun = number // 3
        times: Record = {}
        if chance.random() < 0.9:
            times["started_at"] = f"2026-01-01T00:{begun // 60:02}:{begun % 60:02}Z"
            ended = begun + chance.choice((0, 1, 5, 60))
            if chance.random() < 0.9:
                times["finished_at"] = f"2026-01-01T00:{ended // 60:02}:{ended % 60:02}Z"
        said = [f"x{chance.randint(1, 9)}" for _ in range(3)]
        records.append(call(number, input_snapshot=said, output_snapshot=said[::-1], **times))
    with related(tmp_path / "log.jsonl", records) as engine:
        found = engine.con.execute(
            "select step_id, path, origin_step, origin_path from origins where origin_side = 'output' and exact"
        ).fetchall()
        leaves = engine.con.execute("select step_id, seq, side, path, value, known_at from leaves").fetchall()

    expected = []
    for step, seq, _, path, value, known_at in (leaf for leaf in leaves if leaf[2] == "input"):
        places = [
            (-other_seq, other_path, other)
            for other, other_seq, side, other_path, said, there_at in leaves
            if side == "output" and said == value and other_seq < seq
            and (there_at is None or known_at is None or there_at <= known_at)
        ]  # fmt: skip
        if places:
            expected.append((step, path, min(places)[2], min(places)[1]))
    assert len(expected) > 500
    assert sorted(found) == sorted(expected)
