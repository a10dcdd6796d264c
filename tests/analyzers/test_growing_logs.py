"""A log that grows is taken in by its new lines, and comes out as if it were read afresh."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tracekit import clock
from tracekit.testing import SettableClock
from tracekit_analyzers.engine import Engine
from tracekit_analyzers.growing import following, increment
from tracekit_analyzers.reading import fold
from tracekit_analyzers.session import Session

SAMPLES = Path(__file__).parents[2] / "sample_traces"
LEARNED = ("parameter.generated", "parameter.unknown_reference", "timeout.slow", "tool.schema_changed")
"""Classes that compare a trace with all others."""
RELATIONS = ("traces", "steps", "messages", "call_pairs", "context_changes", "leaves", "origins", "processes")
PLACES = {"first_n", "last_n", "bucket"}
"""Columns that only the analysis itself uses."""


@pytest.fixture(autouse=True)
def nothing_is_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "GROW_FROM_BYTES", 0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "logs"
    made.mkdir()
    return made


def relation(session: Session, name: str) -> list[str]:
    """The rows of a relation as text, without what is only a place in the reading order."""
    table = session.sql(f"select * from {name}", limit=100_000)
    kept = [place for place, column in enumerate(table.columns) if column not in PLACES]
    return sorted(repr([row[place] for place in kept]) for row in table.rows)


def everything(session: Session) -> dict[str, Any]:
    told: dict[str, Any] = {name: relation(session, name) for name in RELATIONS}
    told["verdicts"] = dict(session.engine.verdicts)
    told["rows"] = {row.trace_id: row for row in session.traces(limit=1000).rows}
    told["damage"] = session.damage()
    return told


def fresh(folder: Path) -> dict[str, Any]:
    session = Session([folder])
    session.load()
    told = everything(session)
    session.close()
    return told


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as stream:
        stream.write(data)


def sample_bytes() -> bytes:
    return b"".join(path.read_bytes() for path in sorted(SAMPLES.glob("*.jsonl")))


@st.composite
def growths(draw: st.DrawFn) -> list[list[tuple[str, bytes]]]:
    """What is appended to which of two files, reading by reading; any byte may be the last one for now."""
    data = sample_bytes()
    middle = data.index(b"\n", draw(st.integers(len(data) // 4, len(data) // 2))) + 1
    rounds: list[list[tuple[str, bytes]]] = []
    ends = {"b.jsonl": (0, middle), "a.jsonl": (middle, len(data))}
    cuts = {
        name: [first, *sorted(draw(st.lists(st.integers(first, last), min_size=3, max_size=3))), last]
        for name, (first, last) in ends.items()
    }
    for place in range(4):
        rounds.append([(name, data[at[place] : at[place + 1]]) for name, at in cuts.items()])
    return rounds


@settings(
    max_examples=2, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)  # shrinking reads the log a hundred times
@given(growths())
def test_whatever_is_appended_is_told_as_by_a_fresh_reading(
    tmp_path_factory: pytest.TempPathFactory, rounds: list[list[tuple[str, bytes]]]
) -> None:
    folder = tmp_path_factory.mktemp("logs")
    session = Session([folder])
    for appended in rounds:
        for name, data in appended:
            append(folder / name, data)
        if not any(path.stat().st_size for path in folder.iterdir()):
            continue
        session.load()

        assert everything(session) == fresh(folder)
    session.close()


def test_the_new_lines_alone_are_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = (SAMPLES / "refund_rejected.jsonl").read_bytes().splitlines(keepends=True)
    log = folder / "log.jsonl"
    log.write_bytes(sample_bytes() + b"".join(lines[:-3]))
    session = Session([folder])
    session.load()
    monkeypatch.setattr(Engine, "load", _never)

    for line in lines[-3:]:
        append(log, line)
        session.load()
    grown = everything(session)
    session.close()
    monkeypatch.undo()
    monkeypatch.setattr(following, "GROW_FROM_BYTES", 0)

    assert grown == fresh(folder)


def _never(_: Engine) -> None:
    raise AssertionError("everything was read again")


def test_traces_that_no_new_line_touches_are_not_judged_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(increment, "PEER_STEPS", 0)
    log = folder / "log.jsonl"
    lines = (SAMPLES / "orders_down.jsonl").read_bytes().splitlines(keepends=True)
    log.write_bytes(sample_bytes().replace(b"".join(lines), b"".join(lines[:-4])))
    session = Session([folder])
    session.load()
    before = dict(session.engine.verdicts)

    append(log, b"".join(lines[-4:]))
    session.load()
    after = session.engine.verdicts
    changed = [name for name in after if after[name] is not before.get(name)]
    told = {name: verdict for name, verdict in after.items() if not _learned(verdict)}
    session.close()

    assert len(changed) == 1
    assert told == {name: verdict for name, verdict in fresh(folder)["verdicts"].items() if name in told}
    assert len(told) > 8


def _learned(verdict: Any) -> bool:
    return any(found.code in LEARNED for found in verdict.diagnoses)


class TickingClock(SettableClock):
    """A clock by which a second passes each time that it is looked at."""

    def monotonic_s(self) -> float:
        self.move(1)
        return super().monotonic_s()


def test_what_was_compared_with_few_is_compared_with_all_when_time_allows(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(increment, "PEER_STEPS", 0)
    log = folder / "log.jsonl"
    shutil.copy(SAMPLES / "refund_ok.jsonl", log)
    session = Session([folder])
    with clock.use(TickingClock()) as time:
        session.load()
        engine = session.engine
        append(log, (SAMPLES / "real_circle.jsonl").read_bytes())
        session.load()
        assert session.engine is engine
        session.load()
        assert session.engine is engine

        time.sleep(1000)
        session.load()

        assert session.engine is not engine
        assert everything(session) == fresh(folder)
        again = session.engine
        time.sleep(1000)
        session.load()
        assert session.engine is again
    session.close()


def test_a_file_that_was_replaced_or_shortened_is_read_afresh(folder: Path) -> None:
    log = folder / "log.jsonl"
    shutil.copy(SAMPLES / "refund_ok.jsonl", log)
    session = Session([folder])
    session.load()

    for change in (_replace, _shorten, _rewrite):
        before = session.engine
        change(log)
        session.load()
        assert session.engine is not before
        assert everything(session) == fresh(folder)
    session.close()


def _replace(log: Path) -> None:
    other = log.with_name("other")
    other.write_bytes(
        (SAMPLES / "refund_ok.jsonl").read_bytes() + (SAMPLES / "real_circle.jsonl").read_bytes()
    )
    other.replace(log)


def _shorten(log: Path) -> None:
    lines = log.read_bytes().splitlines(keepends=True)
    with log.open("r+b") as stream:
        stream.truncate(sum(map(len, lines[:-2])))


def _rewrite(log: Path) -> None:
    with log.open("r+b") as stream:
        stream.write((SAMPLES / "real_free_text.jsonl").read_bytes() * 20)


def test_a_last_line_without_its_end_is_told_and_told_anew_when_it_has_it(folder: Path) -> None:
    log = folder / "log.jsonl"
    lines = (SAMPLES / "refund_ok.jsonl").read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(lines[:-2]))
    session = Session([folder])
    session.load()

    seen = []
    for piece in (lines[-2][:40], lines[-2][40:-1], b"\n" + lines[-1]):
        append(log, piece)
        session.load()
        seen.append(len(session.damage()))
        assert everything(session) == fresh(folder)
    session.close()

    assert seen == [1, 0, 0]


def test_a_log_that_was_judged_in_many_buckets_is_taken_in_too(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fold, "BUCKET_STEPS", 20)
    log = folder / "log.jsonl"
    lines = sample_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(lines[:-30]))
    session = Session([folder])
    session.load()
    engine = session.engine
    assert engine.buckets > 3

    append(log, b"".join(lines[-30:]))
    session.load()
    told = {name: relation(session, name) for name in RELATIONS}
    again = session.engine
    session.close()

    assert again is engine
    assert told == {name: told for name, told in fresh(folder).items() if name in RELATIONS}


def test_a_file_that_appears_is_taken_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(SAMPLES / "refund_ok.jsonl", folder / "b.jsonl")
    (folder / "notes.txt").write_text("")
    session = Session([folder])
    session.load()
    engine = session.engine

    shutil.copy(SAMPLES / "refund_killed.jsonl", folder / "a.jsonl")
    session.load()

    assert session.engine is engine
    assert everything(session) == fresh(folder)
    session.close()


def test_the_end_of_a_process_is_seen_though_its_log_says_nothing(folder: Path) -> None:
    import fcntl

    log = folder / "log.jsonl"
    shutil.copy(SAMPLES / "refund_killed.jsonl", log)
    with log.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        session = Session([folder])
        session.load()
        alive = session.traces().rows[0].status
    session.load()

    assert (alive, session.traces().rows[0].status) == ("running", "killed")
    assert everything(session) == fresh(folder)
    session.close()
