"""A run that waits for a person's answer is neither failed nor killed: it is told with its question. On real runs."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tracekit_analyzers.engine import Engine
from tracekit_analyzers.reports import as_json, as_junit, table
from tracekit_analyzers.reports.result import Result, of
from tracekit_analyzers.verdicts.judging import is_open

AGENT = """
import http.client, sys
import tracekit

@tracekit.tool(effect="payment")
def refund(order_id: str) -> dict:
    raise http.client.RemoteDisconnected("Remote end closed connection without response")

@tracekit.task
def pay_back(run: tracekit.Run, order_id: str) -> str:
    if order_id == "lost":
        return str(run.tool(refund, order_id))
    return str(run.ask(f"Pay 99.50 back for {order_id}?", ["yes", "no"]))

@tracekit.tool(effect="read")
def look(order_id: str) -> str:
    return order_id

@tracekit.tool(effect="read")
def find(order_id: str) -> str:
    return order_id

tries = []

@tracekit.task
def changed(run: tracekit.Run, order_id: str) -> str:
    tries.append(run.tool(find if tries else look, order_id))
    raise ValueError("the code is changed before the second try")

tracekit.init(service="waits", home=sys.argv[1])
for order_id in ("lost", "asked", "answered"):
    try:
        pay_back.start(order_id, task_id=order_id)
    except tracekit.RequiresReview as question:
        review = question.review_id
tracekit.decide(review, "done", result="yes", by="ada")
tracekit.resume("answered")
for go_on in (lambda: changed.start("x", task_id="changed"), lambda: tracekit.resume("changed")):
    try:
        go_on()
    except (ValueError, tracekit.TracekitError) as error:
        assert tries, error
"""


@dataclass(frozen=True)
class Analysed:
    result: Result
    traces: Path


@pytest.fixture(scope="module")
def analysed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Analysed]:
    """Tasks of a real process: one lost an answer, one asked, one was answered and went on, one has other code than before."""
    folder = tmp_path_factory.mktemp("waits")
    (folder / "agent.py").write_text(AGENT)
    subprocess.run([sys.executable, str(folder / "agent.py"), str(folder / "home")], check=True, timeout=60)
    traces = folder / "home" / "traces"
    with Engine([str(traces)]) as engine:
        engine.load()
        yield Analysed(of(engine), traces)


def test_a_run_that_asked_waits_with_its_question_and_has_not_failed(analysed: Analysed) -> None:
    runs = {trace.task_id: trace for trace in analysed.result.traces}

    assert {name: run.status for name, run in runs.items()} == {
        "lost": "waiting", "asked": "waiting", "answered": "ok", "changed": "waiting",
    }  # fmt: skip
    assert "Pay 99.50 back for asked?" in (runs["asked"].question or "")
    assert runs["asked"].diagnoses == ()
    assert runs["answered"].question is None
    assert analysed.result.failed == ()
    assert not is_open(runs["asked"])


def test_why_it_asks_stays_a_verdict(analysed: Analysed) -> None:
    (lost,) = [trace for trace in analysed.result.traces if trace.task_id == "lost"]

    assert lost.primary is not None
    assert lost.diagnoses[lost.primary].code == "timeout.no_answer"
    assert lost.resumable is None or lost.resumable.seq < (lost.diagnoses[lost.primary].failed_seq or 0)


def test_a_replay_that_diverged_waits_and_says_what_it_expected(analysed: Analysed) -> None:
    (changed,) = [trace for trace in analysed.result.traces if trace.task_id == "changed"]

    assert "expected tool look" in (changed.question or "")
    assert "got tool find" in (changed.question or "")
    assert changed.status == "waiting"
    assert not any("Divergence" in diagnosis.message for diagnosis in changed.diagnoses)


def test_reports_list_who_waits_and_for_what(analysed: Analysed) -> None:
    shown, made, suite = BytesIO(), BytesIO(), BytesIO()
    table.write(analysed.result, shown)
    as_json.write(analysed.result, made)
    as_junit.write(analysed.result, suite)

    lines = shown.getvalue().decode().splitlines()
    assert "waiting for a person: 3" in lines
    assert any(line.startswith("  asked  ") and "Pay 99.50 back for asked?" in line for line in lines)
    told = {trace["task_id"]: trace for trace in json.loads(made.getvalue())["traces"]}
    assert "Pay 99.50 back for asked?" in told["asked"]["question"]
    assert told["answered"]["question"] is None
    cases = ElementTree.fromstring(suite.getvalue()).findall("testcase")
    assert [(case.get("name", "").split()[0], [child.tag for child in case]) for case in cases] == [
        ("lost", ["skipped"]), ("asked", ["skipped"]), ("answered", []), ("changed", ["skipped"]),
    ]  # fmt: skip


def test_a_page_shows_the_question(analysed: Analysed, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    command = [sys.executable, "-m", "tracekit", "analyze", str(analysed.traces), "--format", "html", "--output", str(page)]  # fmt: skip
    subprocess.run(command, check=True, timeout=60)

    text = page.read_text()
    assert "waiting for a person" in text
    assert "Pay 99.50 back for asked?" in text
