"""Each table of an analysis is the same in every form: for the terminal, as text files, as Parquet, as a Polars frame."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import polars
import pytest

from tests.analyzers.test_html_report import clean, run
from tracekit.cli import main
from tracekit.errors import TracekitError
from tracekit_analyzers import analyze, tables
from tracekit_analyzers.model import TraceVerdict
from tracekit_analyzers.reports import row_forms, text

SAMPLES = Path(__file__).parents[2] / "sample_traces"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.jsonl"
    records = [*run(1), *run(2, says="out of money", wrote=500), *clean(3)]
    path.write_text("".join(json.dumps(record) + "\n" for record in records) + '{"record": "st')
    return path


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["analyze", *arguments]) == 3  # the log is damaged
    return capsys.readouterr().out


@pytest.mark.parametrize("name", tables.NAMES)
def test_a_table_has_the_same_rows_in_every_form(
    log: Path, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "table.parquet"
    printed(capsys, str(log), "--table", name, "--format", "parquet", "--output", str(target))
    lines = printed(capsys, str(log), "--table", name, "--format", "jsonl").splitlines()
    told = json.loads(printed(capsys, str(log), "--table", name, "--format", "json"))
    cells = list(csv.DictReader(io.StringIO(printed(capsys, str(log), "--table", name, "--format", "csv"))))
    shown = printed(capsys, str(log), "--table", name)
    with analyze(log) as found:
        frame = getattr(found, name)
        lazy = found.scan(name).collect()

    assert frame.height > 0
    assert polars.read_parquet(target).schema == frame.schema
    assert polars.read_parquet(target).equals(frame)
    assert lazy.equals(frame)
    assert lazy.schema == frame.schema
    assert [json.loads(line) for line in lines] == told
    assert [as_json(row) for row in frame.to_dicts()] == told
    assert [list(row) for row in cells] == [frame.columns] * frame.height
    assert f"{frame.height} {name}" in shown.splitlines()[-1]


@pytest.mark.parametrize("made_by", ["analyze", "convert"])
def test_times_in_parquet_are_moments_whatever_the_zone_of_their_reader(
    log: Path, tmp_path: Path, made_by: str
) -> None:
    target = tmp_path / "steps.parquet"
    whole = ["convert", str(log), str(target)]
    table = ["analyze", str(log), "--table", "steps", "--format", "parquet", "--output", str(target)]
    main(whole if made_by == "convert" else table)
    with duckdb.connect() as con:
        con.execute("set timezone = 'America/New_York'")
        kinds = con.execute(f"select distinct typeof(started_at), typeof(finished_at) from '{target}'")

        assert kinds.fetchall() == [("TIMESTAMP WITH TIME ZONE", "TIMESTAMP WITH TIME ZONE")]


def as_json(row: dict[str, Any]) -> dict[str, Any]:
    return {name: row_forms.as_json(value) for name, value in row.items()}


@pytest.mark.parametrize("command", [["analyze"], ["analyze", "--table", "runs"], ["sql"]])
def test_a_command_that_makes_no_frame_does_not_load_polars(log: Path, command: list[str]) -> None:
    query = ["select count(*) from steps"] if command == ["sql"] else []
    ran = f"from tracekit.cli import main; code = main({[*command, str(log), *query]})"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; {ran}; sys.exit(code != 3 or 'polars' in sys.modules)"]
    )

    assert done.returncode == 0


def test_runs_tell_the_verdict_and_what_going_on_saves(log: Path) -> None:
    with analyze(log) as found:
        first, second, third = found.runs.to_dicts()

    assert (first["failed"], first["code"], first["failed_seq"], first["tool"]) == (
        True,
        "parameter.altered",
        3,
        "pay",
    )
    assert (first["cost"], first["tokens"], first["duration_ms"]) == (0.25, 12, 4000.0)
    assert (first["resumable_seq"], first["kept_calls"]) == (2, 1)
    assert first["started_at"].utcoffset().total_seconds() == 0
    assert second["code"] != first["code"]
    assert (third["failed"], third["code"], third["resumable_seq"]) == (False, None, None)


def test_groups_say_what_is_new_since_a_baseline(log: Path, tmp_path: Path) -> None:
    old = tmp_path / "old.jsonl"
    old.write_text("".join(json.dumps(record) + "\n" for record in run(1)))

    with analyze(log, baseline=old) as found:
        new = dict(found.groups.select("code", "new").iter_rows())

    assert new["parameter.altered"] is False
    assert [code for code, is_new in new.items() if is_new] != []


def test_the_python_api_answers_sql_and_refuses_to_write(log: Path) -> None:
    with analyze(log) as found:
        told = found.sql(
            "select tool_name, count(*) as n from steps where kind = 'tool' group by all order by all"
        )
        with pytest.raises(TracekitError, match="only reads"):
            found.sql("drop table lines")
        with pytest.raises(TracekitError, match="no_such_column"):
            found.sql("select no_such_column from steps")

    assert told.to_dicts() == [{"tool_name": "look", "n": 2}, {"tool_name": "pay", "n": 2}]


@pytest.mark.parametrize(
    ("name", "begins"),
    [("r.html", "<!doctype html>"), ("r.json", '{"schema"'), ("r.xml", "<?xml"), ("r.csv", "trace_id,")],
)
def test_the_python_api_writes_reports_by_the_end_of_their_name(
    log: Path, tmp_path: Path, name: str, begins: str
) -> None:
    with analyze(log) as found:
        found.report(tmp_path / name)
        with pytest.raises(TracekitError, match="can't tell the form"):
            found.report(tmp_path / "report.docx")

    assert (tmp_path / name).read_text().startswith(begins)
    assert not (tmp_path / "report.docx").exists()


def test_frames_and_verdicts_stay_good_after_the_analysis_is_closed(log: Path) -> None:
    with analyze([log]) as found:
        steps = found.steps
    verdict: TraceVerdict = found.traces[0]

    assert steps.filter(polars.col("trace_id") == verdict.trace_id).height == 3
    assert found.runs.height == 3


def test_an_unknown_table_is_told_with_those_that_there_are(log: Path) -> None:
    with analyze(log) as found, pytest.raises(TracekitError, match="runs, diagnoses, groups"):
        found.scan("nothing")


@pytest.mark.parametrize("form", ["html", "junit"])
def test_a_form_that_is_a_whole_report_holds_no_single_table(
    log: Path, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["analyze", str(log), "--table", "runs", "--format", form]) == 2
    assert "whole report" in capsys.readouterr().err


def test_a_formula_in_a_log_is_no_formula_in_a_spreadsheet(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps({**record, "task_id": "=cmd()"}) + "\n" for record in run(1)))

    main(["analyze", str(path), "--table", "runs", "--format", "csv"])

    assert next(csv.DictReader(io.StringIO(capsys.readouterr().out)))["task_id"] == "'=cmd()"


def test_columns_line_up_whatever_script_a_cell_is_in() -> None:
    cells = ["plain", "退款失败", "cafe\u0301", "❤\ufe0f ok", "a\x1b[31mb"]

    lines = list(row_forms.grid(("name", "n"), [(cell, 7) for cell in cells], io.StringIO()))

    ends = {text.width(line) for line in lines[2:]}
    assert len(ends) == 1
    assert not any("\x1b" in line for line in lines)


def test_a_narrow_terminal_cuts_long_texts_before_numbers() -> None:
    widths = text.fitted([8, 60, 12], 50, keep=(2,))

    assert widths == [8, 26, 12]


@pytest.mark.parametrize(("room", "widths"), [(60, [23, 13, 20]), (44, [10, 10, 20]), (34, [10, 10, 10])])
def test_times_give_way_only_when_texts_are_narrow(room: int, widths: list[int]) -> None:
    assert text.fitted([60, 13, 20], room, late=(2,)) == widths


def test_on_a_terminal_a_group_has_room_for_its_words_and_its_example_can_be_typed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text, "terminal_columns", lambda out: 120)
    assert main(["analyze", str(SAMPLES), "--table", "groups"]) == 0
    head, _, first, *_ = capsys.readouterr().out.splitlines()
    with analyze(SAMPLES) as found:
        group = found.groups.row(0, named=True)

    assert head.split() == ["traces", "share", "code", "tool", "lost_ms", "example", "wording"]
    assert f"  {group['example'][:8]}  {group['wording'][:30]}" in first


@pytest.mark.parametrize("table", [[], ["--table", "runs"]])
def test_a_table_in_a_file_is_whole_and_without_colours_though_a_person_gave_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, table: list[str]
) -> None:
    target = tmp_path / "table.txt"
    main(["analyze", str(SAMPLES), *table, "--format", "table"])
    piped = capsys.readouterr().out
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb"), os.fdopen(theirs, "w") as terminal:
        monkeypatch.setattr(sys, "stdout", terminal)
        main(["analyze", str(SAMPLES), *table, "--format", "table", "--output", str(target)])

    assert target.read_text() == piped


def test_the_last_lines_count_what_was_not_got_over(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", str(SAMPLES)]) == 0
    told = capsys.readouterr().out

    found = next(line for line in told.splitlines() if line.startswith("found "))
    assert found.startswith("found and not got over: ")
    assert "process.killed 1," in found
    assert "tool.not_found" not in found


def test_ids_are_shown_as_long_as_it_takes_to_tell_them_apart() -> None:
    assert text.unique_length(["abcdefgh1", "abcdefgh2"]) == 9
    assert text.unique_length(["one", "two"]) == 8
