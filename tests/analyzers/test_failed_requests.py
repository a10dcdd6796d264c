"""What became of a request that failed on its way: the table of docs/failures.md, row by row, on one log."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tracekit_analyzers.engine import Engine
from tracekit_analyzers.model import Diagnosis

NEVER_SENT = "the request was never sent"
ANSWERED = "the service was reached and answered"
NOT_KNOWN = "the connection broke: nothing here tells whether the request had been sent"
MAY_HAVE = "it was sent and its outcome is unknown: what it does may have happened"

ROWS: dict[str, tuple[str, str | None, str, str, str, str]] = {
    # step status, state of its effect, exception, its words: class, what the evidence says of the request
    "refused": ("error", None, "httpx.ConnectError", "[Errno 111] Connection refused", "timeout.unavailable", NEVER_SENT),
    "no_name": ("error", "failed", "socket.gaierror", "[Errno -2] Name or service not known", "timeout.unavailable", NEVER_SENT),
    "no_connection": ("error", None, "httpx.ConnectTimeout", "timed out", "timeout.unavailable", NEVER_SENT),
    "pool": ("error", None, "requests.exceptions.ConnectTimeout", "Connection to h timed out. (connect timeout=3)", "timeout.unavailable", NEVER_SENT),
    "reset_unsent": ("error", "failed", "ConnectionResetError", "[Errno 104] Connection reset by peer", "timeout.unavailable", NEVER_SENT),
    "answered_503": ("error", "failed", "urllib.error.HTTPError", "HTTP Error 503: Service Unavailable", "timeout.unavailable", ANSWERED),
    "answered_500": ("unknown", "executed_unknown", "urllib.error.HTTPError", "HTTP Error 500: Internal Server Error", "timeout.unavailable", MAY_HAVE),
    "reset_read": ("error", None, "ConnectionResetError", "[Errno 104] Connection reset by peer", "timeout.unavailable", NOT_KNOWN),
    "reset_sent": ("unknown", "executed_unknown", "ConnectionResetError", "[Errno 104] Connection reset by peer", "timeout.no_answer", MAY_HAVE),
    "closed_sent": ("unknown", "executed_unknown", "http.client.RemoteDisconnected", "Remote end closed connection without response", "timeout.no_answer", MAY_HAVE),
    "read_error_sent": ("unknown", "executed_unknown", "httpx.ReadError", "", "timeout.no_answer", MAY_HAVE),
    "read_timeout": ("unknown", "executed_unknown", "httpx.ReadTimeout", "timed out", "timeout.no_answer", MAY_HAVE),
}  # fmt: skip


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Diagnosis]:
    """The primary diagnosis of each row's run."""
    path = tmp_path_factory.mktemp("requests") / "log.jsonl"
    path.write_text("".join(json.dumps(_step(name)) + "\n" for name in ROWS))
    with Engine([str(path)]) as engine:
        engine.load()
        runs = {each.trace_id: each for each in engine.verdicts.values()}
    return {name: run.diagnoses[run.primary] for name, run in runs.items() if run.primary is not None}


def _step(name: str) -> dict[str, Any]:
    status, effect_status, error_type, message, *_ = ROWS[name]
    step = {
        "record": "step", "trace_id": name, "step_id": f"s-{name}", "kind": "tool", "name": "refund", "tool_name": "refund",
        "status": status, "error_type": error_type, "error_message": message, "input_snapshot": {"order": 1},
    }  # fmt: skip
    return step | ({"effect": {"risk": "payment", "status": effect_status}} if effect_status else {})


@pytest.mark.parametrize("name", ROWS)
def test_a_failed_request_has_its_class_and_says_whether_it_was_sent(
    name: str, found: dict[str, Diagnosis]
) -> None:
    *_, code, said = ROWS[name]

    diagnosis = found[name]

    assert diagnosis.code == code
    assert [fact.what for fact in diagnosis.evidence][1:] == [said]
    assert ("may have happened" in diagnosis.message) == (said == MAY_HAVE)
