"""The short way of a query gives what the long way gives, or leaves it to the long way."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tracekit.cli import main
from tracekit.cli.command import Exit
from tracekit.errors import TracekitError
from tracekit_analyzers.session import Session
from tracekit_analyzers.shortcuts import narrow, quick

SAMPLES = [
    str(path)
    for path in sorted((Path(__file__).parents[2] / "sample_traces").glob("*.jsonl"))
    if path.read_bytes().startswith(b'{"record"')
]
FIELDS: dict[str, list[object]] = {
    "name": ["a", "b"],
    "kind": ["tool", "model", "llm"],
    "tool_name": ["x", "y"],
    "status": ["ok", "error", "running"],
    "started_at": ["2026-01-01T00:00:01Z", "2026-01-01T00:00:02Z"],
    "finished_at": ["2026-01-01T00:00:03Z", "2026-01-01T00:00:04Z"],
    "duration_ms": [5, 7.5],
    "model_raw_output": ["one", "two"],
    "output_snapshot": [{"a": 1}, None, "text"],
    "usage": [{"input_tokens": 3}, {"input": 4}],
    "attributes": [{"a": 1, "b": 1}, {"a": 2}],
}


def write(path: Path, count: int = 30) -> Path:
    lines = []
    for n in range(count):
        head = {
            "record": "step",
            "trace_id": f"t{n // 5}",
            "step_id": f"s{n}",
            "tool_name": f"tool{n % 3}",
            "kind": "tool",
        }
        start = f"2026-01-01T00:00:{n:02d}Z"
        lines.append(
            {
                **head,
                "status": "running",
                "input_snapshot": {"n": n},
                "started_at": start,
                "attributes": {"a": n, "b": 1},
            }
        )
        ended = {"finished_at": f"2026-01-01T00:01:{n:02d}Z", "duration_ms": 60_000 + n, "output_snapshot": n}
        if n % 7:
            lines.append(
                {
                    **head,
                    "status": "error" if n % 2 else "ok",
                    "error_type": "E" if n % 2 else None,
                    **ended,
                    "attributes": {"b": 2},
                }
            )
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.mark.parametrize(
    "query",
    [
        "select tool_name, status, count(*) as n, avg(duration_ms) as m from steps group by all order by 1, 2",
        "select step_id, input ->> '$.n', output_text, status, error_type, started_at from steps order by step_id",
        "select count(distinct trace_id) from steps where kind = 'tool' and finished_at is null",
        "select step_id, attributes ->> '$.a', attributes ->> '$.b' from steps order by step_id",
    ],
)
def test_both_ways_give_the_same_rows(query: str, tmp_path: Path) -> None:
    path = str(write(tmp_path / "log.jsonl"))
    session = Session([path], diagnose=False)

    answer = quick.answer([path], query, reader=None, limit=100)

    assert answer is not None
    assert (answer.table.rows, answer.damaged) == (session.sql(query, limit=100).rows, 0)
    session.close()


@pytest.fixture(scope="module")
def samples() -> Iterator[Session]:
    made = Session(SAMPLES, diagnose=False)
    yield made
    made.close()


@pytest.mark.parametrize("column", sorted(narrow.COLUMNS))
def test_every_column_is_that_of_the_whole_reading(column: str, samples: Session) -> None:
    query = f"select trace_id, step_id, {column} from steps order by all"

    answer = quick.answer(SAMPLES, query, reader=None, limit=10_000)

    assert answer is not None
    assert answer.table.rows == samples.sql(query, limit=10_000).rows
    assert len(answer.table.rows) > 50


def test_a_step_that_is_told_many_times_is_put_together_as_in_the_whole_reading(tmp_path: Path) -> None:
    chance = random.Random(3)
    lines = []
    for n in range(400):
        said: dict[str, object] = {"record": "step", "trace_id": f"t{n % 3}", "step_id": f"s{n % 40}"}
        kept = chance.sample(sorted(FIELDS), k=chance.randint(1, len(FIELDS)))
        lines.append(json.dumps(said | {name: chance.choice(FIELDS[name]) for name in kept}))
    log = tmp_path / "log.jsonl"
    log.write_text("\n".join(lines))
    columns = "name, kind, tool_name, status, started_at, finished_at, duration_ms, raw, output, input_tokens, attributes"
    query = f"select trace_id, step_id, {columns} from steps order by trace_id, step_id"
    session = Session([log], diagnose=False)

    answer = quick.answer([str(log)], query, reader=None, limit=1000)

    assert answer is not None
    assert answer.table.rows == session.sql(query, limit=1000).rows
    session.close()


@pytest.mark.parametrize(
    "query",
    [
        "select * from steps",
        "from steps",
        "select s from steps s",
        "select count(columns('tool.*')) from steps",
        "select #1 from steps",
        "select k from steps s(k)",
        "select kind from steps natural join (select 'tool' as kind, 'ok' as status)",
        "select max(seq) from steps",
        "select count(*) from leaves",
        "select 1",
        "select line from steps",
    ],
)
def test_what_needs_more_than_named_columns_is_left_to_the_long_way(query: str, tmp_path: Path) -> None:
    assert quick.answer([str(write(tmp_path / "log.jsonl"))], query, reader=None, limit=9) is None


STEP = '{"record":"step","trace_id":"t","step_id":"s","kind":"tool"'


@pytest.mark.parametrize(
    "line",
    [
        '{"record":"step","trace_id":"to',
        STEP + ',"duration_ms":NaN}',
        STEP + ',"input_snapshot":{"a":-Infinity}}',
        STEP + "}" + STEP + ',"attempt":2}',
        STEP + ',"kind":"model"}',
        STEP + ',"duration_ms":"long","attempt":"one"}',
        STEP + ',"started_at":"yesterday"}',
        STEP + ',"seq":{"$tk":{"type":"int","value":"99999999999999999999"}}}',
        '{"record":"drops","count":3,"reason":"disk full"}',
        '{"record":"gossip"}',
        "[1]",
        "{}",
        "\0\0\0\0",
        "",
    ],
)
def test_damage_is_counted_as_in_the_whole_reading(line: str, tmp_path: Path) -> None:
    path = write(tmp_path / "log.jsonl")
    path.write_text(path.read_text() + line + "\n" + STEP.replace('"s"', '"last"') + "}\n")
    query = "select kind, sum(duration_ms), min(trace_id), count(*), max(status) from steps group by kind"
    session = Session([path], diagnose=False)

    answer = quick.answer([str(path)], query, reader=None, limit=9)

    assert answer is not None
    assert answer.table.rows == session.sql(query, limit=9).rows
    assert answer.damaged == len(session.damage())
    session.close()


def test_lost_lines_are_told_by_a_query_that_takes_the_short_way(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "log.jsonl")
    with path.open("a") as stream:
        stream.write('{"record":"drops","count":194,"reason":"No space left on device"}\n')

    code = main(["sql", str(path), "select count(*) as n from steps", "--format", "csv"])

    told = capsys.readouterr()
    assert code == Exit.DAMAGE
    assert told.out == "n\n30\n"
    assert "1 damaged pieces" in told.err


def test_steps_without_ids_are_left_to_the_whole_reading_which_gives_them_some(tmp_path: Path) -> None:
    path = write(tmp_path / "log.jsonl")
    path.write_text(path.read_text() + '{"record":"step","kind":"tool"}\n')

    assert quick.answer([str(path)], "select count(*) from steps", reader=None, limit=9) is None


def test_the_short_way_reads_nothing_but_the_named_files(tmp_path: Path) -> None:
    path = write(tmp_path / "log.jsonl")
    (tmp_path / "other.csv").write_text("secret\n1\n")

    query = f"select count(*) from steps where kind in (select secret from read_csv('{tmp_path}/other.csv'))"
    assert quick.answer([str(path)], query, reader=None, limit=9) is None
    with pytest.raises(TracekitError, match="only reads"):
        quick.answer([str(path)], "copy (select count(*) from steps) to 'x.csv'", reader=None, limit=9)
