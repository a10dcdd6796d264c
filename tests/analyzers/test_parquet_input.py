"""A Parquet file is read like the lines that its rows are."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest

from tests.analyzers.test_groups import clean, refused, write
from tracekit.cli import main
from tracekit.errors import TracekitError
from tracekit_analyzers.converting import exports
from tracekit_analyzers.engine import Engine

Seen = list[tuple[str, str, str, list[tuple[str, int | None, str | None]]]]


def seen(path: Path) -> Seen:
    with Engine([path]) as engine:
        engine.load()
        return [
            (v.trace_id, v.name, v.status, [(d.code, d.failed_seq, d.tool) for d in v.diagnoses])
            for v in engine.verdicts.values()
        ]


def test_steps_that_were_exported_give_the_verdicts_of_the_log(tmp_path: Path) -> None:
    log = write(tmp_path / "log.jsonl", refused(0), refused(1), clean(5))
    table = tmp_path / "steps.parquet"

    outcome = exports.parquet(exports.Job([str(log)], table, None))

    assert outcome.written == 5
    assert sorted(seen(table)) == sorted(seen(log))
    assert any(found for _, _, _, found in seen(table))


KILLED = Path(__file__).parents[2] / "sample_traces" / "refund_killed.jsonl"


@pytest.mark.parametrize("name", ["log.parquet", "log.otlp.jsonl"])
def test_a_killed_run_is_killed_in_a_converted_log_and_in_one_converted_again(
    tmp_path: Path, name: str
) -> None:
    write_as = exports.parquet if name.endswith("parquet") else exports.otlp
    log = KILLED
    for number in range(2):
        target = tmp_path / f"{number}-{name}"
        write_as(exports.Job([str(log)], target, None))
        log = target
        with Engine([log], diagnose=False) as engine:
            engine.load()
            assert engine.con.execute("select status, ended_by from traces").fetchall() == [
                ("killed", "killed")
            ]


def test_a_conversion_to_parquet_says_how_many_messages_it_leaves_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["convert", str(KILLED), str(tmp_path / "steps.parquet")]) == 0
    messages = KILLED.read_text().count('"record":"message"')
    assert messages > 0
    assert f"{messages} messages are not in it" in capsys.readouterr().err
    bare = write(tmp_path / "bare.jsonl", refused(0))
    assert main(["convert", str(bare), str(tmp_path / "bare.parquet")]) == 0
    assert "not in it" not in capsys.readouterr().err


def test_rows_in_the_shape_of_a_log_are_read(tmp_path: Path) -> None:
    log = write(tmp_path / "log.jsonl", refused(0), clean(1))
    table = tmp_path / "rows.parquet"
    duckdb.sql(f"copy (select * from read_json('{log}')) to '{table}' (format parquet)")

    assert seen(table) == seen(log)


def test_rows_of_another_known_format_go_to_its_reader(tmp_path: Path) -> None:
    line = {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]}
    lines, table = tmp_path / "chat.jsonl", tmp_path / "chat.parquet"
    lines.write_text(json.dumps(line) + "\n")
    duckdb.sql(f"copy (select * from read_json('{lines}')) to '{table}' (format parquet)")

    assert [found[1:] for found in seen(table)] == [found[1:] for found in seen(lines)]
    assert len(seen(table)) == 1


def test_a_broken_parquet_file_is_told(tmp_path: Path) -> None:
    path = tmp_path / "broken.parquet"
    path.write_bytes(b"PAR1 and nothing more")

    with pytest.raises(TracekitError, match="expected a Parquet file") as caught:
        seen(path)
    assert caught.value.code == "input.unreadable"
