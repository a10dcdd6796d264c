"""The commands of the analyzers, run as a user runs them: stdout is data, stderr is talk, the exit code says how it went."""

from __future__ import annotations

import csv
import io
import json
import os
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars
import pytest

from tracekit import config
from tracekit.cli import main

BAD, GOOD = "ab" * 16, "cd" * 16
A1, A2, B1 = "a1" * 8, "a2" * 8, "b1" * 8
CORPUS = Path(os.environ.get("TRACEKIT_CORPUS", Path(__file__).parents[2] / ".." / "shared" / "data"))
AIRLINE = CORPUS / "taubench_airline"


def step(trace: str, step_id: str, **fields: Any) -> dict[str, Any]:
    return {"record": "step", "trace_id": trace, "step_id": step_id, "kind": "tool", "status": "ok", **fields}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A run that failed at a tool that timed out, with hostile text in it, and a clean run."""
    lines = [
        step(BAD, A1, tool_name="find", input_snapshot={"id": "A-1"}, output_snapshot={"total": 5}),
        step(
            BAD, A2, tool_name="pay", name="pay <script>alert(1)</script>\x1b[31m", task_id="=cmd()", status="error",
            input_snapshot={"total": 5}, error_type="TimeoutError", error_message="no answer within 30 s",
            effect={"risk": "payment", "key": "k", "status": "executed_unknown"},
        ),
        step(GOOD, B1, tool_name="find", input_snapshot={"id": "A-2"}, output_snapshot={"total": 6}),
    ]  # fmt: skip
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.fixture
def torn(log: Path) -> Path:
    log.write_text(log.read_text() + '{"record":"step","trace_id":"to')
    return log


def test_analyze_prints_a_table_with_the_failure(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", str(log)]) == 0

    out = capsys.readouterr().out
    assert "timeout.no_answer" in out
    assert "2 traces, 3 steps; 1 failed (50.0 %); 0 errors that" in out
    assert "\x1b" not in out


def test_without_a_path_the_home_of_this_project_is_read(
    log: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(config, "_current", replace(config.settings(), home=log.parent))
    assert main(["analyze"]) == 0
    assert "2 traces" in capsys.readouterr().out

    monkeypatch.setattr(config, "_current", replace(config.settings(), home=log.parent / "absent"))
    assert main(["analyze"]) == 2
    assert "name a log" in capsys.readouterr().err


def test_analyze_prints_the_documented_json(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["analyze", str(log), "--format", "json"])

    told = json.loads(capsys.readouterr().out)
    assert told["schema"] == "tracekit.analysis/1"
    assert (told["summary"]["traces"], told["summary"]["steps"], told["summary"]["failed_traces"]) == (
        2,
        3,
        1,
    )
    assert told["summary"]["by_code"] == {"timeout.no_answer": 1}
    bad, good = told["traces"]
    found = bad["diagnoses"][bad["primary"]]
    assert (found["failed_step"], found["failed_seq"], found["family"]) == (A2, 2, "timeout")
    assert found["source"] == {"file": str(log), "line": 2, "index": None}
    assert bad["resumable"]["seq"] == 1
    assert (good["primary"], good["diagnoses"], good["resumable"]) == (None, [], None)


def test_the_same_input_gives_the_same_bytes(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed = []
    for _ in range(2):
        main(["analyze", str(log), "--format", "json"])
        printed.append(capsys.readouterr().out)

    assert printed[0] == printed[1]


@pytest.mark.parametrize(
    ("codes", "code"),
    [
        ("timeout", 1),
        ("timeout.no_answer", 1),
        ("any", 1),
        ("parameter", 0),
        ("parameter,timeout", 1),
        ("", 0),
    ],
)
def test_fail_on_gates_a_build(log: Path, codes: str, code: int) -> None:
    assert main(["analyze", str(log), "--fail-on", codes]) == code


def test_a_misspelt_gate_is_refused(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", str(log), "--fail-on", "timeuot"]) == 2
    assert "timeout" in capsys.readouterr().err


def test_damage_has_its_own_exit_code_and_a_matched_failure_comes_first(torn: Path) -> None:
    assert main(["analyze", str(torn)]) == 3
    assert main(["analyze", str(torn), "--fail-on", "timeout"]) == 1


def test_what_can_not_be_read_is_told_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", str(tmp_path / "nothing.jsonl")]) == 4

    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count("\n") == 1
    assert "nothing.jsonl" in told.err


def test_an_unknown_reader_is_told_with_near_names(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", str(log), "--reader", "nativ"]) == 4
    assert "native" in capsys.readouterr().err


def test_csv_can_be_opened_in_a_spreadsheet(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["analyze", str(log), "--format", "csv"])

    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["code"] for row in rows] == ["timeout.no_answer", ""]
    assert rows[0]["task_id"] == "'=cmd()"


def test_junit_names_the_failed_run(torn: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["analyze", str(torn), "--format", "junit"])

    suite = ET.fromstring(capsys.readouterr().out)
    assert (suite.get("tests"), suite.get("failures")) == ("3", "2")
    assert [case.find("failure") is not None for case in suite] == [True, False, True]
    assert suite[0][0].get("type") == "timeout.no_answer"
    told = (suite[0][0].text or "").splitlines()
    assert told[1] == "failed at step 2"
    assert told[-1] == f"look closer: tracekit show {BAD} {torn}"


def test_junit_tells_the_time_of_each_run_and_of_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    times = {"started_at": "2026-01-01T00:00:00Z", "finished_at": "2026-01-01T00:01:02.5Z"}
    path = tmp_path / "log.jsonl"
    runs = [step(BAD, A1, tool_name="find", **times), step(GOOD, B1, tool_name="find")]
    path.write_text("".join(json.dumps(line) + "\n" for line in runs))
    main(["analyze", str(path), "--format", "junit"])

    suite = ET.fromstring(capsys.readouterr().out)
    assert [case.get("time") for case in suite] == ["62.500", "0.000"]
    assert (suite.get("time"), suite.get("errors")) == ("62.500", "0")


def test_parquet_holds_a_row_for_each_diagnosis(log: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.parquet"
    main(["analyze", str(log), "--format", "parquet", "--output", str(target)])

    rows = polars.read_parquet(target)
    assert rows["code"].to_list() == ["timeout.no_answer", None]
    assert rows["failed_seq"].to_list() == [2, None]


def test_jsonl_has_the_summary_first(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["analyze", str(log), "--format", "jsonl"])

    first, *rest = map(json.loads, capsys.readouterr().out.splitlines())
    assert first["summary"]["traces"] == 2
    assert [line["trace_id"] for line in rest] == [BAD, GOOD]


def test_show_prints_a_trace_and_a_step_of_it(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "abab", str(log)]) == 0
    out = capsys.readouterr().out
    assert "timeout.no_answer at step 2" in out
    assert "\x1b" not in out

    assert main(["show", "abab", str(log), "--step", "2", "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["line"]["step_id"] == A2
    assert [origin["origin_step"] for origin in told["lineage"]] == [A1]


def test_show_tells_times_in_units_of_their_size_and_none_below_zero(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "log.jsonl"
    times = {"long": 15_183_153.26, "short": 12.4, "back": -5.0}
    lines = [step(BAD, name, tool_name=name, duration_ms=ms) for name, ms in times.items()]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    main(["show", BAD, str(path)])

    shown = [line.split("tool  ")[1] for line in capsys.readouterr().out.splitlines() if "tool  " in line]
    assert shown == ["long  4 h 13 min", "short  12 ms", "back  0 ms (its end lies before its begin)"]


def test_show_says_which_traces_there_are(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "ffff", str(log)]) == 2
    assert "2 traces here" in capsys.readouterr().err


def test_checkpoints_tells_which_steps_are_clean_and_why_others_are_not(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["checkpoints", "abab", str(log), "--format", "json"])

    told = json.loads(capsys.readouterr().out)
    assert told["schema"] == "tracekit.analysis/1"
    assert [(item["seq"], item["clean"]) for item in told["steps"]] == [(1, True), (2, False)]
    assert told["steps"][1]["why"] == "its effect has no known outcome"
    assert (told["resumable"]["seq"], told["resumable"]["risk"]) == (1, "high")


def test_the_reason_not_to_go_on_later_is_told_and_nothing_that_the_log_does_not_tell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [
        step(BAD, A1, tool_name="find", input_snapshot={"id": "A-1"}, output_snapshot={"total": 5}),
        step(
            BAD, A2, tool_name="find", status="error", error_type="ValueError", error_message="no such order"
        ),
    ]
    log = tmp_path / "untimed.jsonl"
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))

    for command, kept in (("show", "keeps 1 call; risk"), ("checkpoints", "keeps 1 call against")):
        main([command, BAD, str(log)])

        out = capsys.readouterr().out
        assert kept in out
        assert "not later: step 2: " in out
    assert "○ not" in out


def test_a_place_names_no_line_that_a_format_does_not_have(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    talk = tmp_path / "talk.json"
    talk.write_text(
        json.dumps([{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}])
    )
    main(["analyze", str(talk), "--format", "json"])
    trace = json.loads(capsys.readouterr().out)["traces"][0]["trace_id"]

    assert main(["show", trace, str(talk), "--step", "1"]) == 0

    place = capsys.readouterr().out.splitlines()[1]
    assert place.strip() == f"{talk} message 1"


def test_diff_shows_where_two_runs_part(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", "abab", "cdcd", str(log), "--format", "json"]) == 0

    told = json.loads(capsys.readouterr().out)
    assert told["first_divergence"] == 0
    assert [pair["change"] for pair in told["pairs"]] == ["input", "only_left"]


def test_sql_answers_and_refuses_to_write(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query = "select tool_name, count(*) as n from steps group by all order by tool_name"
    assert main(["sql", str(log), query, "--format", "jsonl"]) == 0
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == [
        {"tool_name": "find", "n": 2},
        {"tool_name": "pay", "n": 1},
    ]

    assert main(["sql", str(log), "drop view steps"]) == 2
    assert "only reads" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("select * from step", "show tables"),
        ("select nme from steps", "describe steps"),
        ("select * from read_csv('/etc/hostname')", "no other file"),
        ("selec 1", "syntax error"),
    ],
)
def test_a_query_that_can_not_be_run_is_a_mistake_in_the_command_with_a_hint(
    log: Path, query: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sql", str(log), query]) == 2

    told = capsys.readouterr()
    assert told.out == ""
    assert said in told.err


@pytest.mark.parametrize("target", ["out.jsonl", "out.otlp.jsonl", "out.parquet"])
def test_a_converted_log_gives_the_same_verdicts(
    log: Path, target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["convert", str(log), str(tmp_path / target)]) == 0
    capsys.readouterr()

    told = []
    for path in (log, tmp_path / target):
        main(["analyze", str(path), "--format", "json"])
        told.append(json.loads(capsys.readouterr().out)["traces"])

    assert [_essence(trace) for trace in told[0]] == [_essence(trace) for trace in told[1]]


def _essence(trace: dict[str, Any]) -> Any:
    found = [
        (item["failed_step"], item["cause_step"], item["code"], item["message"])
        for item in trace["diagnoses"]
    ]
    return trace["trace_id"], trace["status"], trace["steps"], trace["primary"], found


def test_convert_never_writes_over_a_file(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = log.read_bytes()

    assert main(["convert", str(log), str(log)]) == 2
    assert log.read_bytes() == before


def test_convert_writes_steps_as_parquet(log: Path, tmp_path: Path) -> None:
    assert main(["convert", str(log), str(tmp_path / "steps.parquet")]) == 0
    assert polars.read_parquet(tmp_path / "steps.parquet")["step_id"].to_list() == [A1, A2, B1]


def test_audit_answers_five_questions(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", str(log), "--format", "json"]) == 0

    answers = json.loads(capsys.readouterr().out)
    assert [item["answer"] for item in answers] == ["partly", "partly", "yes", "partly", "partly"]
    assert "1 of 3 tool steps declare their effect" in answers[3]["facts"]


def test_audit_finds_a_secret_and_does_not_show_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps(step(BAD, A1, input_snapshot={"password": "correct-horse-9"})) + "\n")

    assert main(["audit", str(path), "--secrets"]) == 1

    out = capsys.readouterr().out
    assert "password" in out
    assert "correct-horse-9" not in out


@pytest.mark.corpus
@pytest.mark.skipif(not AIRLINE.is_dir(), reason="the corpus is absent: set TRACEKIT_CORPUS")
def test_every_tool_error_of_a_real_log_is_found_at_its_message(capsys: pytest.CaptureFixture[str]) -> None:
    main(["analyze", str(AIRLINE / "gpt-4o-airline.json"), "--format", "json"])

    told = json.loads(capsys.readouterr().out)
    found = {
        (trace["source"]["trace_index"], item["source"]["index"], item["family"])
        for trace in told["traces"]
        for item in trace["diagnoses"]
    }
    errors = [json.loads(line) for line in (AIRLINE / "tool_errors.jsonl").read_text().splitlines()]
    unseen = [json.loads(line) for line in (AIRLINE / "unseen_ids.jsonl").read_text().splitlines()]
    assert told["summary"]["traces"] == 116
    places = {(trace, index) for trace, index, _ in found}
    assert {(error["trace_index"], error["message_index"]) for error in errors} <= places
    invented = {(trace, index) for trace, index, family in found if family == "parameter"}
    for entry in unseen:
        calls = {(entry["trace_index"], entry["call_message_index"] + offset) for offset in (0, 1)}
        assert calls & invented
