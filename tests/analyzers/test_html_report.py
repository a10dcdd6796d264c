"""The one-file report: whole without network and script, safe whatever a log holds, and of a size that can be mailed."""

from __future__ import annotations

import base64
import json
import re
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tracekit.cli import main
from tracekit_analyzers.engine import Engine
from tracekit_analyzers.reports import html_report, text, writer
from tracekit_analyzers.reports.html_report import charts
from tracekit_analyzers.reports.result import of

EVIL = "</pre></details><script>alert(1)</script><img src=x onerror=alert(2)>\x1b[31m\u202e&\"'"
VOID = {"meta", "br", "input", "rect", "line"}


class Page(HTMLParser):
    """A page as a browser takes it apart: its elements in order, and whether every one is closed where it should be."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag, f"</{tag}> closes something else"

    def handle_data(self, data: str) -> None:
        if not (self._open and self._open[-1] in ("script", "style")):
            self.texts.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [found for name, found in self.elements if name == tag]

    @property
    def text(self) -> str:
        return " ".join(self.texts)


def at(second: float, *, day: int = 1) -> str:
    return f"2026-03-{day:02d}T10:00:{second:09.6f}Z"


def run(
    n: int, *, day: int = 1, says: str = "declined: account 7 is closed", wrote: int = 5
) -> list[dict[str, Any]]:
    """A run in which a tool received 500 and refused; unless the model wrote just that, it was changed on the way."""
    trace = f"{n:032x}"
    common = {"record": "step", "trace_id": trace}
    return [
        {**common, "step_id": f"{n:08x}aaaaaaaa", "kind": "task", "name": "run", "task_id": f"job-{n}", "status": "error",
         "started_at": at(0, day=day), "finished_at": at(4, day=day)},
        {**common, "step_id": f"{n:08x}bbbbbbbb", "parent_step_id": f"{n:08x}aaaaaaaa", "kind": "tool", "tool_name": "look",
         "status": "ok", "input_snapshot": {"id": "A-1"}, "output_snapshot": {"total": 5}, "started_at": at(0, day=day),
         "finished_at": at(1, day=day), "usage": {"input_tokens": 10, "output_tokens": 2, "cost": 0.25}},
        {**common, "step_id": f"{n:08x}cccccccc", "parent_step_id": f"{n:08x}aaaaaaaa", "kind": "tool", "tool_name": "pay",
         "status": "error", "model_raw_output": json.dumps({"amount": wrote}), "input_snapshot": {"amount": 500}, "error_type": "Refused",
         "error_message": says, "started_at": at(1, day=day), "finished_at": at(4, day=day)},
    ]  # fmt: skip


def clean(n: int, *, day: int = 1) -> list[dict[str, Any]]:
    return [
        {"record": "step", "trace_id": f"{n:032x}", "step_id": f"{n:08x}dddddddd", "kind": "task", "name": "run", "status": "ok",
         "started_at": at(0, day=day), "finished_at": at(1, day=day), "output_snapshot": "fine"},
    ]  # fmt: skip


def report(tmp_path: Path, *runs: list[dict[str, Any]]) -> str:
    log = tmp_path / "log.jsonl"
    log.write_text("".join(json.dumps(record) + "\n" for run in runs for record in run))
    page = tmp_path / "report.html"
    assert main(["analyze", str(log), "--format", "html", "--output", str(page)]) == 0
    return page.read_text()


def test_a_run_is_shown_with_its_waterfall_its_evidence_and_what_was_changed_on_the_way(
    tmp_path: Path,
) -> None:
    page = Page(report(tmp_path, run(1), clean(2)))

    assert "1 of 2 runs failed" in page.text
    assert len([found for found in page.all("details") if found.get("class") == "run"]) == 1
    pictures = [found["aria-label"] or "" for found in page.all("svg") if found.get("role") == "img"]
    assert any("Waterfall of 3 of 3 steps. Step 3, pay, failed." in told for told in pictures)
    assert "What the tool received is not what the model wrote" in page.text
    assert re.search(r"\$\.amount\s+5\s+500", page.text)
    assert "Can go on after step" in page.text
    assert f"tracekit show {1:032x}" in page.text


def test_the_sums_are_of_failed_runs(tmp_path: Path) -> None:
    text = Page(report(tmp_path, run(1), run(2), clean(3), clean(4))).text

    assert re.search(r"time in failed runs\s+8\.0 s\s+80\.0.%", text)
    assert re.search(r"cost of failed runs\s+0\.5000\s+100\.0.%", text)


@pytest.mark.parametrize("field", ["error_message", "tool_name", "task_id", "name", "trace_id"])
def test_nothing_that_a_log_says_becomes_markup(tmp_path: Path, field: str) -> None:
    hostile = [{**record, field: EVIL} for record in run(1)]

    text = report(tmp_path, hostile)

    page = Page(text)
    assert page.all("img") == []
    assert len(page.all("script")) == 1
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert all(not name.startswith("on") for _, attributes in page.elements for name in attributes)


def test_the_policy_lets_in_just_the_style_and_the_script_that_stand_there(tmp_path: Path) -> None:
    text = report(tmp_path, run(1))

    policy = next(
        found["content"] or ""
        for found in Page(text).all("meta")
        if found.get("http-equiv") == "Content-Security-Policy"
    )
    for tag in ("style", "script"):
        inside = re.search(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        assert inside is not None
        told = base64.b64encode(sha256(inside[1].encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{told}'" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert all("style" not in attributes for _, attributes in Page(text).elements)


def test_nothing_is_fetched(tmp_path: Path) -> None:
    page = Page(report(tmp_path, run(1), run(2)))

    assert page.all("link") == []
    for _, attributes in page.elements:
        assert "src" not in attributes
        assert (attributes.get("href") or "#").startswith("#")


def test_every_group_links_to_an_example_that_is_on_the_page(tmp_path: Path) -> None:
    page = Page(report(tmp_path, run(1), run(2, says="out of money", wrote=500)))

    links = [found["href"] or "" for found in page.all("a") if (found["href"] or "").startswith("#run-")]
    ids = {found.get("id") for found in page.all("details")}
    assert len(links) >= 2
    assert {link[1:] for link in links} <= ids


def test_the_same_log_gives_the_same_bytes(tmp_path: Path) -> None:
    assert report(tmp_path, run(1), run(2)) == report(tmp_path, run(1), run(2))


def test_a_report_of_many_runs_stays_small_and_says_what_it_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(html_report, "MOST_BYTES", 60_000)
    monkeypatch.setattr(html_report, "MOST_LISTED", 100)
    odd = run(200, says="out of money", wrote=500)

    text = report(tmp_path, *(run(n) for n in range(1, 150)), odd)

    page = Page(text)
    shown = [found for found in page.all("details") if found.get("class") == "run"]
    rows = [found for found in page.all("div") if found.get("class") == "row"]
    assert len(text) < 200_000
    assert len(shown) + len(rows) == 100
    assert f"{len(shown)} of 100 runs are shown in full" in page.text
    assert "50 failed runs more are not listed" in page.text


def test_the_example_of_a_rare_kind_is_shown_in_full_before_more_of_the_usual_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(html_report, "MOST_BYTES", 20_000)

    page = Page(report(tmp_path, *(run(n) for n in range(1, 40)), run(200, says="out of money", wrote=500)))

    shown = {found["id"] for found in page.all("details") if found.get("class") == "run"}
    assert len(shown) < 10
    assert {"run-0", "run-39"} <= shown


def test_a_long_run_is_drawn_around_what_failed(tmp_path: Path) -> None:
    long = run(1)
    filler = [
        {
            **long[1],
            "step_id": f"{n:016x}",
            "input_snapshot": {"id": f"A-{n}"},
            "output_snapshot": {"total": n},
            "started_at": at(0.1 + n / 1000),
            "finished_at": at(0.1 + n / 1000),
        }
        for n in range(300)
    ]

    page = Page(report(tmp_path, [long[0], *filler, *long[1:]]))

    assert "48 of 303 steps drawn" in page.text
    assert re.search(r"⋯ \d+ steps not drawn", page.text)
    assert any(
        "pay, failed" in (found.get("aria-label") or "") for found in page.all("svg") if "aria-label" in found
    )


def test_a_log_without_times_is_drawn_in_order(tmp_path: Path) -> None:
    bare = [{key: value for key, value in record.items() if not key.endswith("_at")} for record in run(1)]

    page = Page(report(tmp_path, bare))

    assert "The log tells no times: steps in their order." in page.text
    assert "Over time" not in page.text


def test_a_log_in_which_nothing_failed_says_so(tmp_path: Path) -> None:
    assert "None: all 2 runs ended well" in Page(report(tmp_path, clean(1), clean(2))).text


def test_damage_is_told(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text("".join(json.dumps(record) + "\n" for record in run(1)) + '{"record": "step", <b>')
    page = tmp_path / "report.html"

    assert main(["analyze", str(log), "--format", "html", "--output", str(page)]) == 3

    text = Page(page.read_text()).text
    assert re.search(r"damaged pieces\s+1", text)
    assert '{"record": "step", <b>' in text


def test_the_steps_of_a_result_from_elsewhere_are_said_to_be_missing(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text("".join(json.dumps(record) + "\n" for record in run(1)))
    with Engine([log]) as engine:
        engine.load()
        result = of(engine)
    page = tmp_path / "report.html"
    from dataclasses import replace

    with page.open("wb") as out:
        writer("html")(replace(result, report_steps=None), out)

    assert "was made on Spark" in Page(page.read_text()).text


@pytest.mark.parametrize(
    ("days", "name", "count"),
    [((1, 1), "minute", 1), ((1, 3), "hour", 49), ((1, 28), "day", 28)],
)
def test_runs_over_time_are_counted_in_spans_that_fit(
    tmp_path: Path, days: tuple[int, int], name: str, count: int
) -> None:
    log = tmp_path / "log.jsonl"
    records = run(1, day=days[0]) + clean(2, day=days[1])
    log.write_text("".join(json.dumps(record) + "\n" for record in records))
    with Engine([log]) as engine:
        engine.load()
        told, buckets = charts.over_time(tuple(engine.verdicts.values()))

    assert (told, len(buckets)) == (name, count)
    assert (sum(bucket.runs for bucket in buckets), buckets[0].failed) == (2, 1)


@pytest.mark.parametrize(
    ("ms", "said"),
    [(None, "–"), (0.4, "0 ms"), (850, "850 ms"), (12_340, "12.3 s"), (250_000, "4 min 10 s"),
     (7_500_000, "2 h 5 min"), (273_600_000, "3 d 4 h")],
)  # fmt: skip
def test_a_time_is_said_in_units_of_its_size(ms: float | None, said: str) -> None:
    assert text.took(ms) == said
