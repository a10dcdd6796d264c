"""Two runs beside each other: which steps belong together, and the place at which the runs part."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tracekit.cli import main
from tracekit_analyzers.reports import text
from tracekit_analyzers.verdicts import alignment
from tracekit_analyzers.verdicts.alignment import AlignStep, align, first_divergence


def step(seq: int, name: str, asked: str | None = None, said: str | None = None, **more: Any) -> AlignStep:
    fields = {"kind": "tool", "status": "ok", **more}
    return AlignStep(f"{more.get('side', '')}{seq}-{name}", seq, fields["kind"], name, fields["status"], asked, said,
                     wraps=bool(more.get("wraps")))  # fmt: skip


def steps(*asked: str, side: str = "") -> list[AlignStep]:
    return [step(seq, "look", word, side=side) for seq, word in enumerate(asked, 1)]


def seqs(pairs: list[alignment.Pair]) -> list[tuple[int | None, int | None]]:
    return [(pair.left and pair.left.seq, pair.right and pair.right.seq) for pair in pairs]


def test_a_step_put_in_between_does_not_shift_the_partners_of_those_after_it() -> None:
    pairs = align(steps("a", "b", "c"), steps("x", "a", "b", "c"))

    assert seqs(pairs) == [(None, 1), (1, 2), (2, 3), (3, 4)]
    assert first_divergence(pairs) == 0


def test_steps_of_the_same_name_are_partners_where_nothing_surer_is_there() -> None:
    pairs = align(steps("a", "b", "z"), steps("a", "c", "z"))

    assert [(pair.change) for pair in pairs] == ["same", "input", "same"]


def test_the_runs_part_at_the_step_that_did_something_else_and_not_at_what_wraps_it() -> None:
    left = [
        step(1, "task", "x", "fine", kind="task", wraps=True),
        *steps("a")[0:1],
        step(3, "pay", "1", "paid"),
    ]
    right = [
        step(1, "task", "x", None, kind="task", wraps=True, status="error"),
        *steps("a")[0:1],
        step(3, "pay", "1", None),
    ]

    pairs = align(left, right)

    assert [pair.change for pair in pairs] == ["output", "same", "output"]
    assert first_divergence(pairs) == 2


def test_equal_runs_do_not_part() -> None:
    assert first_divergence(align(steps("a", "b"), steps("a", "b"))) is None


def test_runs_of_many_thousand_steps_are_cut_where_both_surely_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alignment, "_LONGEST", 40)
    words = [f"w{n}" for n in range(200)]
    other = [f"x{n}" if n % 10 == 0 else word for n, word in enumerate(words)]
    other[55:55] = ["new", "newer"]

    pairs = align(steps(*words), steps(*other))

    partners = [(pair.left.input, pair.right.input) for pair in pairs if pair.left and pair.right]
    assert all(one == two or two.startswith("x") for one, two in partners)
    assert len(partners) == 200
    assert [pair.right.input for pair in pairs if pair.left is None and pair.right] == ["new", "newer"]


def test_no_step_is_lost_or_told_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alignment, "_LONGEST", 10)
    left, right = steps(*"abcabcabcdefgabc" * 3), steps(*"abcxbcabdefgaybc" * 3)

    pairs = align(left, right)

    assert [pair.left.seq for pair in pairs if pair.left] == [one.seq for one in left]
    assert [pair.right.seq for pair in pairs if pair.right] == [one.seq for one in right]


def record(trace: str, n: int, **fields: Any) -> dict[str, Any]:
    return {"record": "step", "trace_id": trace * 32, "step_id": f"{trace * 8}{n:08x}", "kind": "tool", "status": "ok",
            "started_at": f"2026-03-01T10:00:0{n}Z", "finished_at": f"2026-03-01T10:00:0{n}.5Z", **fields}  # fmt: skip


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A run that paid, and one of the same task that was refused."""
    asked = {"kind": "model", "name": "ask", "input_snapshot": {"tools": []}}
    records = [
        record("a", 1, **asked, output_snapshot={"tool_calls": [{"id": "call_1", "name": "pay"}]}),
        record("a", 2, tool_name="pay", input_snapshot={"cents": 5}, output_snapshot={"paid": True}),
        record("b", 1, **asked, output_snapshot={"tool_calls": [{"id": "call_2", "name": "pay"}]}),
        record("b", 2, tool_name="pay", input_snapshot={"cents": 5}, status="error", error_message="refused"),
    ]
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in records))
    return path


def test_ids_that_a_model_makes_up_for_its_calls_are_no_difference(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diff", "aaaa", "bbbb", str(log), "--format", "json"]) == 0

    told = json.loads(capsys.readouterr().out)
    assert [pair["change"] for pair in told["pairs"]] == ["same", "output"]
    assert told["first_divergence"] == 1
    assert told["counts"] == {"output": 1, "same": 1}
    assert (told["left"]["status"], told["right"]["status"]) == ("ok", "error")
    assert told["pairs"][1]["changes"] == [
        {"side": "status", "path": "$", "left": "ok", "right": "error"},
        {"side": "output", "path": "$", "left": '{"paid":true}', "right": None},
    ]


def test_a_person_reads_which_runs_they_are_where_they_part_and_how_much_is_the_same(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["diff", "aaaa", "bbbb", str(log)])

    out = capsys.readouterr().out
    assert "A  ask  aaaaaaaaaaaa  ok, 2 steps" in out
    assert "B  ask  bbbbbbbbbbbb  error, 2 steps" in out
    assert out.index("the runs part here") < out.index("pay  output differs")
    assert "status: ok -> error" in out
    assert "1 of 2 steps are the same; 1 with another output" in out


def test_a_file_of_several_runs_is_asked_about_with_its_ids(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diff", str(log), "bbbb"]) == 2

    said = capsys.readouterr().err
    assert "found 2" in said
    assert "aaaaaaaaaaaa" in said
    assert f"tracekit diff ID ID {log}" in said


def test_long_values_are_cut_so_that_their_difference_shows() -> None:
    one, other = text.apart("same " * 40 + "left end", "same " * 40 + "right end", 60)

    assert one != other
    assert ("left" in one, "right" in other) == (True, True)
    assert max(len(one), len(other)) <= 60
