"""What an analysis does grows with its log, not with the square of it; and what bounds it changes no answer."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.analyzers.extreme_logs import LOGS, Record, call
from tracekit_analyzers import failures
from tracekit_analyzers.engine import Engine
from tracekit_analyzers.relations import statement

RELATIONS = ("messages", "call_pairs", "leaves", "origins")
NOISE = 4000
"""Rows that a statement moves whatever the log: so few say nothing of how they grow."""


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


def statements(engine: Engine) -> Iterator[str]:
    """Every statement that relates and judges, each after the one before it was run."""
    for name in RELATIONS:
        yield statement(name)
    yield "select * from cleanliness"
    for script in failures.PRELUDE:
        for one in engine.con.extract_statements(script):
            if "MACRO" not in one.query.partition(" AS")[0]:
                yield one.query
            engine.con.execute(one.query)
    for kind in failures.classes():
        yield kind.sql


@pytest.mark.parametrize("make", LOGS, ids=lambda make: make.__name__.strip("_"))
def test_no_statement_makes_a_product_of_the_steps_of_a_log(
    tmp_path: Path, make: Callable[[int], list[Record]]
) -> None:
    code, share = LOGS[make]

    def work(count: int) -> list[tuple[str, int]]:
        with related(tmp_path / "log.jsonl", make(count)) as engine:
            moved = [(sql, rows_moved(engine, sql.strip().rstrip(";"))) for sql in statements(engine)]
            (kind,) = (kind for kind in failures.classes() if kind.code == code)
            assert len(engine.con.execute(kind.sql).fetchall()) >= share * count
            return moved

    grown = zip(work(200), work(800), strict=True)

    assert [
        (sql[:80], small, large) for (sql, small), (_, large) in grown if large > 6 * max(small, NOISE)
    ] == []


def test_an_id_inside_a_longer_word_was_heard_however_many_ids_are_looked_for(tmp_path: Path) -> None:
    chance = random.Random(11)

    def id_like() -> str:
        return f"A{chance.randint(1000, 1199)}-{chance.randint(10, 14)}"

    def found(ids: list[str], texts: list[str]) -> set[str]:
        """The ids that are told when they are used after their texts, beside good ones of the same kind."""
        good = [f"A{n}-{n}" for n in range(4000, 4400)]
        records = [call(0, kind="task", tool_name=None, input_snapshot="do it")]
        records.append(call(1, output_snapshot={"order_id": good}))
        records += [call(2 + n, output_snapshot=text) for n, text in enumerate(texts)]
        begin = 2 + len(texts)
        records += [call(begin + n, input_snapshot={"order_id": used}) for n, used in enumerate(good + ids)]
        with related(tmp_path / "log.jsonl", records) as engine:
            for sql in failures.PRELUDE:
                engine.con.execute(sql)
            (kind,) = (kind for kind in failures.classes() if kind.code == "parameter.unknown_reference")
            told = engine.con.execute(kind.sql).fetchall()
        return {row[5].split()[1] for row in told}

    ids = sorted({id_like() for _ in range(120)})
    texts = [f"look at xy{id_like()}z and {'b' * chance.randint(0, 300)}{id_like()}{'c9' * chance.randint(0, 90)}" for _ in range(300)]  # fmt: skip
    silent = {one for one in ids if not any(one.lower() in text.lower() for text in texts)}

    assert 10 < len(silent) < len(ids) - 10
    assert found(ids, texts) == silent
    assert found(ids[:30], texts) == silent & set(ids[:30])


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


def test_each_value_of_a_large_output_is_told_by_its_path(tmp_path: Path) -> None:
    rows = [{"id": f"k{n}", "of it": [n, {"x": None, "y": "long " * 900 + f"v{n}"}][: 1 + (n % 1000 == 0)]} for n in range(6000)]  # fmt: skip
    expected = {
        *((f"$.data.rows[{n}].id", f"k{n}") for n in range(6000)),
        *((f'$.data.rows[{n}]."of it"[0]', f"{n}") for n in range(6000)),
        *((f'$.data.rows[{n}]."of it"[1].y', "long " * 900 + f"v{n}") for n in range(0, 6000, 1000)),
    }

    with related(tmp_path / "log.jsonl", [call(0, output_snapshot={"data": {"rows": rows}})]) as engine:
        found = engine.con.execute("select path, value from leaves where type <> 'token'").fetchall()

    assert len(found) == len(expected)
    assert set(found) == expected
