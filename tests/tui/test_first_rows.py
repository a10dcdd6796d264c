"""The first reading: its rows can be asked while it is still being judged, its verdicts when they are there."""

from __future__ import annotations

import threading
from pathlib import Path

from tests.tui.killed import killed_agent
from tracekit_analyzers.session import Session
from tracekit_analyzers.views import Progress


def test_rows_are_answered_before_the_verdicts_and_verdicts_are_waited_for(tmp_path: Path) -> None:
    killed_agent(tmp_path, at="after_dispatch#4")
    session = Session([tmp_path])
    reached, go_on = threading.Event(), threading.Event()

    def tell(progress: Progress) -> None:
        if progress.stage == "diagnosing":
            reached.set()
            assert go_on.wait(30)

    loading = threading.Thread(target=lambda: session.load(tell))
    loading.start()
    assert reached.wait(30)

    early = session.traces().rows
    steps = session.steps(early[0].trace_id).rows
    asked = threading.Thread(target=lambda: verdicts.append(session.verdict(early[0].trace_id)))
    verdicts: list[object] = []
    asked.start()
    go_on.set()
    loading.join(30)
    asked.join(30)

    assert [row.code for row in early] == [None]
    assert [row.name for row in steps][-1] == "payment.refund"
    assert verdicts[0] is not None
    assert [row.code for row in session.traces().rows] == ["process.killed"]
    session.close()
