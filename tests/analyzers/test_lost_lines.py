"""A recorder that could not write says so in its log: analysis tells how many lines are lost, and doubts what may be among them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.analyzers.case_log import PROCESS, trace_of, write
from tracekit.cli import main
from tracekit_analyzers.engine import Engine, silent
from tracekit_analyzers.failures._load import confidences
from tracekit_analyzers.model import Diagnosis, InputFile
from tracekit_analyzers.reading import database
from tracekit_analyzers.reading.damage import Damage
from tracekit_analyzers.reading.ingest import Ingest
from tracekit_analyzers.session import Session

CASES = Path(__file__).parent / "cases"
STEP = b'{"record":"step","trace_id":"t1","step_id":"s%d","kind":"tool","name":"a","tool_name":"a","status":"ok"}'
DROPS = (
    b'{"record":"drops","count":194,"reason":"No space left on device","at":"2026-01-01T00:00:00.000000Z"}'
)
REASON = "lost: 194 lines could not be written: No space left on device"
CLEAN = b"\n".join((STEP % 1, DROPS, STEP % 2)) + b"\n"
TORN = b"\n".join((STEP % 1, DROPS, STEP % 2, (STEP % 3)[:40])) + b"\n"


@pytest.mark.parametrize(
    ("name", "data", "others"),
    [("log.jsonl", CLEAN, 0), ("log.jsonl", TORN, 1), ("log.jsonl.gz", gzip.compress(CLEAN), 0)],
    ids=["read by the engine", "read line by line", "packed"],
)
def test_lost_lines_are_told_with_their_place(name: str, data: bytes, others: int, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(data)

    with Engine([path]) as engine:
        engine.load()
        lost = [bad for bad in engine.damage.listed() if bad.reason == REASON]
        counts = (engine.damage.lost, engine.damage.bad_count)

    assert counts == (194, 1 + others)
    assert [(bad.file, bad.line, bad.offset) for bad in lost] == [(str(path), 2, len(STEP % 1) + 1)]
    assert lost[0].head == DROPS.decode()[:80]


def test_each_drops_line_is_an_entry_and_the_counts_add_up(tmp_path: Path) -> None:
    second = b'{"record":"drops","count":1,"reason":"Input/output error","at":"2026-01-01T00:00:01Z"}'
    unsaid = b'{"record":"drops","at":"2026-01-01T00:00:01Z"}'
    (tmp_path / "a.jsonl").write_bytes(CLEAN + second + b"\n")
    (tmp_path / "b.jsonl").write_bytes(STEP % 9 + b"\n" + unsaid + b"\n")

    with Engine([tmp_path]) as engine:
        engine.load()
        told = [(Path(bad.file).name, bad.line, bad.reason) for bad in engine.damage.listed()]

    assert engine.damage.lost == 195
    assert told == [
        ("a.jsonl", 2, REASON),
        ("a.jsonl", 4, "lost: 1 line could not be written: Input/output error"),
        ("b.jsonl", 2, "lost: an unknown number of lines could not be written"),
    ]


@pytest.mark.parametrize("data", [CLEAN, TORN], ids=["read by the engine", "read line by line"])
def test_a_piece_of_a_file_tells_the_place_in_the_whole_file(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "piece.jsonl"
    path.write_bytes(data)
    damage = Damage()
    piece = InputFile(path, "whole.jsonl", data, first_line=40, first_byte=5000)
    with database.connect(tmp_path, len(data)) as con:
        Ingest(con, damage, tmp_path, reader=None, tell=silent).add([piece])

    lost = [bad for bad in damage.listed() if bad.lost]

    assert [(bad.file, bad.line, bad.offset) for bad in lost] == [
        ("whole.jsonl", 42, 5000 + len(STEP % 1) + 1)
    ]


def test_the_reports_name_lost_lines_and_exit_as_read_with_damage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(CLEAN)

    assert main(["analyze", str(path), "--format", "json"]) == 3
    damage = json.loads(capsys.readouterr().out)["summary"]["damage"]
    assert main(["analyze", str(path)]) == 3
    table = capsys.readouterr().out

    assert (damage["lost"], damage["bad_count"]) == (194, 1)
    assert damage["bad"] == [
        {
            "file": str(path),
            "line": 2,
            "offset": len(STEP % 1) + 1,
            "reason": REASON,
            "head": DROPS.decode()[:80],
        }
    ]
    assert "194 lines were never written" in table
    assert f"log.jsonl:2  {REASON}" in table


def test_the_list_of_damage_on_the_screen_has_lost_lines_and_counts_them_once_after_a_second_reading(
    tmp_path: Path,
) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(CLEAN)
    session = Session([path])
    session.load()
    with path.open("ab") as file:
        file.write(STEP % 3 + b"\n")
    session.load()

    assert [bad.reason for bad in session.damage()] == [REASON]
    assert session.engine.damage.lost == 194
    session.close()


def diagnosed(case: dict[str, Any], folder: Path, *more: dict[str, Any]) -> Diagnosis:
    path = write(case, folder)
    with path.open("a") as file:
        file.writelines(json.dumps(line) + "\n" for line in more)
    with Engine([folder]) as engine:
        engine.load()
        (found,) = engine.verdicts[trace_of("case")].diagnoses
    return found


@pytest.mark.parametrize("code", ["context_missing_result", "context_truncated", "tool_not_found"])
@pytest.mark.parametrize("with_process", [True, False])
def test_what_rests_on_a_missing_message_is_less_sure_where_lines_are_lost(
    code: str, with_process: bool, tmp_path: Path
) -> None:
    case = json.loads(next(iter(sorted((CASES / code).glob("*.json")))).read_text()) | {
        "exited": with_process
    }

    found = diagnosed(case, tmp_path, json.loads(DROPS))

    doubts = [(fact.what[:9], fact.value) for fact in found.evidence if fact.what.startswith("less sure")]
    whole = confidences()[found.rule]
    if code.startswith("context"):
        assert found.confidence == round(whole / 2, 3)
        assert doubts == [("less sure", "194")]
    else:
        assert (found.confidence, doubts) == (whole, [])


def test_lines_lost_in_another_file_of_the_process_count_and_those_of_another_process_do_not(
    tmp_path: Path,
) -> None:
    case = json.loads(next(iter((CASES / "context_missing_result").glob("*.json"))).read_text())
    case["exited"] = True
    confidences_found = []
    for name, process in (("same", PROCESS), ("other", "00000000000000bb")):
        folder = tmp_path / name
        folder.mkdir()
        start = {"record": "process", "event": "start", "process_id": process}
        lines = (json.dumps(start), DROPS.decode())
        (folder / "case.2.jsonl").write_text("\n".join(lines) + "\n")
        found = diagnosed(case, folder)
        confidences_found.append(found.confidence)

    whole = confidences()[found.rule]
    assert confidences_found == [round(whole / 2, 3), whole]
