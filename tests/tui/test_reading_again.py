"""What makes the explorer read again: new lines of a log, not every change in the folder of a home."""

from __future__ import annotations

from pathlib import Path

from tests.tui.killed import killed_agent
from tests.tui.waiting import waiting_store
from tracekit_analyzers.session import Session


def test_a_change_of_the_store_alone_reads_nothing_again(tmp_path: Path) -> None:
    killed_agent(tmp_path, at="after_dispatch#4")
    session = Session([tmp_path])
    session.load()
    before = session.engine
    waiting_store(tmp_path)
    (tmp_path / "recoveries").mkdir()
    (tmp_path / "recoveries" / "decisions.jsonl").write_text("{}\n")

    session.load()
    assert session.engine is before

    log = next((tmp_path / "traces").glob("*.jsonl"))
    with log.open("a") as file:
        file.write('{"record": "drops", "count": 1, "reason": "test", "at": "2026-01-01T00:00:00Z"}\n')
    session.load()
    assert session.engine is not before
    session.close()
