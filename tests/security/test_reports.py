"""Words of a log in what leaves the program: shown, and neither run by a browser or spreadsheet nor sent to a terminal."""

from __future__ import annotations

import asyncio
import csv
import io
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import orjson
import pytest

from tests.tui.chromium import chromium, opened
from tracekit.cli import main
from tracekit_analyzers.session import Session
from tracekit_tui.reports import verdict_report

PAYLOADS = (
    "<script>document.title='ran'</script>",
    "</pre></code></details><script>document.title='ran'</script>",
    "\"><img src=x onerror=\"document.title='ran'\">",
    "' onmouseover='document.title=\"ran\"' x='",
    "<svg/onload=document.title='ran'>",
    "<iframe srcdoc=\"<script>parent.document.title='ran'</script>\">",
    "<a href=\"javascript:document.title='ran'\" autofocus onfocus=\"document.title='ran'\">x</a>",
    "--></style><script>document.title='ran'</script>",
    "<meta http-equiv=refresh content='0;url=https://evil.example'>",
    "]]><x/>&bad;\x00\x0b\ufffe",
    "=cmd|' /C calc'!A0",
    "+1+1", "-1+1", "@SUM(1)", "\t=1", "\r=1",
    "\x1b]52;c;aGk=\x07\x1b[2J\x9b31m\u202eevil\u2066",
    "![x](https://evil.example/p.png) [y](javascript:z)",
    "[bold]x[/] [@click=app.quit]y[/]",
)  # fmt: skip


def step(number: int, word: str) -> bytes:
    trace = f"{number:032x}"
    line = {
        "record": "step", "trace_id": trace, "step_id": word, "task_id": word, "kind": "tool", "name": word, "tool_name": word, "agent": word,
        "status": "error", "error_type": word, "error_message": word, "error_stack": word, "output_snapshot": word, "input_snapshot": {word: word},
        "attributes": {word: word}, "started_at": "2026-01-01T00:00:00Z", "finished_at": "2026-01-01T00:00:01Z",
    }  # fmt: skip
    return orjson.dumps(line) + b"\n"


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("reports") / "<img src=x onerror=document.title='ran'>.jsonl"
    path.write_bytes(
        b"".join(step(number + 1, word) for number, word in enumerate(PAYLOADS))
        + b'{"torn <script>document.title=1</script>'
    )
    return path


def report(log: Path, form: str, folder: Path) -> bytes:
    out = folder / f"out.{form}"
    assert main(["analyze", str(log), "--format", form, "--output", str(out)]) == 3
    return out.read_bytes()


async def test_nothing_of_a_log_runs_in_the_report(log: Path, tmp_path: Path) -> None:
    page = await asyncio.to_thread(report, log, "html", tmp_path)
    assert page.count(b"<script") == 1, "our own, at the end"
    assert b"document.title=&#x27;ran&#x27;" in page
    assert not re.search(rb"[\x00-\x08\x0b-\x1f\x7f]", page)
    command = chromium()
    if command is None:
        pytest.skip("no Chromium here")
    async with opened(command, (tmp_path / "out.html").as_uri(), tmp_path) as tab:
        for _ in range(200):
            if await tab.ask("document.readyState") == "complete":
                break
            await asyncio.sleep(0.05)
        await tab.ask("document.querySelectorAll('details').forEach(each => each.open = true)")
        await tab.ask(
            "document.querySelectorAll('*').forEach(each => {for (const kind of ['mouseover', 'focus', 'error', 'load']) each.dispatchEvent(new Event(kind))})"
        )
        await asyncio.sleep(0.3)
        assert "tracekit" in await tab.ask("document.title")
        assert (
            await tab.ask(
                "document.querySelectorAll('script:not(:last-of-type), iframe, img, meta[http-equiv=refresh]').length"
            )
            == 0
        )
        assert (
            await tab.ask(
                "[...document.querySelectorAll('*')].flatMap(each => each.getAttributeNames()).filter(name => name.startsWith('on')).length"
            )
            == 0
        )
        assert (
            await tab.ask("[...document.links].filter(each => each.protocol === 'javascript:').length") == 0
        )


def test_no_cell_of_a_table_is_a_formula(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    analysed = report(log, "csv", tmp_path).decode()
    capsys.readouterr()
    assert main(["sql", str(log), "select name, error_message, task_id from steps", "--format", "csv"]) == 3
    for text in (analysed, capsys.readouterr().out):
        cells = [cell for row in csv.reader(io.StringIO(text)) for cell in row]
        assert any(cell.startswith("'=cmd") for cell in cells)
        assert [cell for cell in cells if cell[:1] in ("=", "+", "-", "@", "\t", "\r")] == []


def test_a_build_server_can_read_the_report(log: Path, tmp_path: Path) -> None:
    cases = ET.fromstring(report(log, "junit", tmp_path)).iter("testcase")
    assert len(list(cases)) == len(PAYLOADS) + 1


def test_no_command_sends_codes_of_a_log_to_the_terminal(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace, other = f"{17:032x}", f"{16:032x}"
    for words in (["analyze", str(log)], ["show", trace, str(log)], ["show", trace, str(log), "--step", "1"], ["checkpoints", trace, str(log)],
                  ["diff", trace, other, str(log)], ["audit", str(log)], ["audit", str(log), "--secrets"], ["sql", str(log), "select * from steps"],
                  ["sql", str(log), "select * from diagnoses"], ["show", "nothing", str(log)]):  # fmt: skip
        main(words)
        said = "".join(capsys.readouterr())
        assert said
        assert not {letter for letter in said if letter in "\x00\x07\x0b\r\x1b\x9b\u202e\u2066"}, words


def test_a_verdict_for_a_ticket_is_no_markdown(log: Path) -> None:
    session = Session([log])
    session.load()
    try:
        texts = [verdict_report(verdict) for verdict in session.engine.verdicts.values()]
    finally:
        session.close()
    assert any("![x]" in text for text in texts)
    lines = [line for text in texts for line in text.split("\n")[:-1]]
    assert all(line.startswith("    ") for line in lines)
    assert not any(ord(letter) < 32 for line in lines for letter in line)
