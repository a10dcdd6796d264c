"""Screen 3: what failed and why, with evidence rows that lead to their place."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from textual.app import ComposeResult

from tracekit_analyzers.model import Diagnosis, Evidence, TraceVerdict
from tracekit_analyzers.reports.text import kept
from tracekit_tui.frame import Copyable, ExplorerScreen
from tracekit_tui.list import Column, VirtualList, fixed_page
from tracekit_tui.marks import confidence, glyph, run_state
from tracekit_tui.notes import add_note
from tracekit_tui.reports import verdict_report
from tracekit_tui.rows import short
from tracekit_tui.summary import WORTH
from tracekit_tui.text import Ink, Run, flow


@dataclass(frozen=True, slots=True)
class VerdictLine:
    """One line: a heading, a fact, or a piece of evidence that leads to a step."""

    runs: tuple[Run, ...]
    step: str | None = None
    margin: int = 2
    """Where its second line begins, when it needs one."""


class VerdictScreen(ExplorerScreen):
    """The verdict on one trace."""

    place: ClassVar[str] = "verdict"
    number: ClassVar[int] = 3
    enter: ClassVar[str] = "go to the step"

    def __init__(self, trace_id: str) -> None:
        super().__init__()
        self.trace_id = trace_id
        self.verdict: TraceVerdict | None = None

    def body(self) -> ComposeResult:
        yield VirtualList(id="verdict", title="verdict", empty="nothing is known about this trace")

    def start(self) -> None:
        self.query_one(VirtualList).focus()
        self._ask(keep_cursor=False)

    def changed(self) -> None:
        self._ask(keep_cursor=True)

    def _ask(self, *, keep_cursor: bool) -> None:
        controller = self.explorer.controller
        if controller is None:
            return
        trace_id = self.trace_id
        self.in_thread(
            lambda: controller.analysis.verdict(trace_id),
            lambda verdict: self._show(verdict, keep_cursor),
            group="verdict",
        )

    def _show(self, verdict: TraceVerdict | None, keep_cursor: bool) -> None:
        self.verdict = verdict
        # Both borders and the scroll bar take a cell each.
        lines = [] if verdict is None else verdict_lines(verdict, max(20, self.size.width - 3))
        columns: list[Column[Any]] = [
            Column("what was found; Enter goes to the step", lambda row, width: row.runs)
        ]
        self.query_one(VirtualList).feed(
            columns, fixed_page(lines), keep_cursor=keep_cursor, key=lambda row: row.runs
        )
        self.tell()

    def on_resize(self) -> None:
        if self.verdict is not None:
            self._show(self.verdict, keep_cursor=True)

    def crumb(self) -> list[Run]:
        verdict = self.verdict
        if verdict is None:
            return [(self.trace_id[:8], "accent")]
        code = None if verdict.primary is None else verdict.diagnoses[verdict.primary].code
        sign, ink = glyph(run_state(verdict.status, code))
        return [
            (f"{sign} ", ink),
            (verdict.task_id or verdict.trace_id[:8], "accent"),
            (f" {verdict.name}", "strong"),
        ]

    def on_virtual_list_opened(self, event: VirtualList.Opened) -> None:
        line: VerdictLine = event.row
        if line.step is None:
            self.notify("this line belongs to no step", markup=False, timeout=2)
            return
        self.explorer.look_at(self.trace_id, line.step)
        self.explorer.go("trace", line.step)

    def action_note(self) -> None:
        self.ask("what is not right about this verdict", "", self._note)

    def _note(self, text: str) -> None:
        verdict, controller = self.verdict, self.explorer.controller
        if not text.strip() or verdict is None or controller is None:
            return
        self.in_thread(
            lambda: add_note(controller.notes_file(), verdict, text, controller.who),
            lambda path: self.notify(f"written to {path}", markup=False),
            group="note",
        )

    def copyable(self) -> list[Copyable]:
        verdict = self.verdict
        if verdict is None:
            return []
        return [
            ("report as text", lambda: verdict_report(verdict)),
            (
                "verdict as JSON",
                lambda: json.dumps(asdict(verdict), default=str, ensure_ascii=False, indent=2),
            ),
            ("trace id", lambda: verdict.trace_id),
        ]


def verdict_lines(verdict: TraceVerdict, width: int) -> list[VerdictLine]:
    """Lines of the whole verdict in *width* cells: the primary diagnosis first, the others, where it may go on."""
    lines: list[VerdictLine] = []
    ordered = sorted(enumerate(verdict.diagnoses), key=lambda pair: pair[0] != verdict.primary)
    if not ordered:
        lines.append(VerdictLine((("nothing was found to be wrong", "ok"),)))
    for number, diagnosis in ordered:
        lines += _diagnosis_lines(diagnosis, primary=number == verdict.primary)
        lines.append(VerdictLine((("", "plain"),)))
    lines += _resumable_lines(verdict)
    return [VerdictLine(part, line.step) for line in lines for part in flow(line.runs, width, line.margin)]


def _diagnosis_lines(diagnosis: Diagnosis, *, primary: bool) -> list[VerdictLine]:
    ink: Ink = "dim" if diagnosis.recovered else "error"
    note = "  got over by the agent" if diagnosis.recovered else "" if primary else "  also"
    lines = [
        VerdictLine(
            (
                ("✗ " if primary else "· ", ink),
                (diagnosis.code, ink),
                (f"  step {_seq(diagnosis.failed_seq)}", "strong"),
                (f"  confidence {confidence(diagnosis.confidence)} · rule {diagnosis.rule}{note}", "dim"),
            ),
            diagnosis.failed_step,
        ),
        VerdictLine((("  ", "plain"), (diagnosis.message, "plain")), diagnosis.failed_step),
    ]
    if diagnosis.cause_step is not None and diagnosis.cause_step != diagnosis.failed_step:
        cause = f"  cause: step {_seq(diagnosis.cause_seq)}"
        lines.append(VerdictLine(((cause, "warn"), ("  Enter shows it", "dim")), diagnosis.cause_step))
    lines.append(
        VerdictLine(
            (("  another go: ", "dim"), (str(diagnosis.retry), "accent"), ("  " + _worth(diagnosis), "dim")),
            diagnosis.failed_step,
            margin=4,
        )
    )
    lines += _evidence_lines("  evidence", diagnosis.evidence)
    return lines


def _worth(diagnosis: Diagnosis) -> str:
    return WORTH.get(str(diagnosis.retry), "nothing to try again")


def _evidence_lines(title: str, evidence: Sequence[Evidence]) -> list[VerdictLine]:
    lines: list[VerdictLine] = []
    for number, fact in enumerate(evidence, 1):
        head = title if number == 1 else " " * len(title)
        runs: list[Run] = [(f"{head} {number} ", "title"), (short(fact.what, 400), "plain")]
        if fact.path:
            runs.append((f"  {short(fact.path, 80)}", "accent"))
        if fact.value is not None:
            runs.append((f" = {short(fact.value, 120)}", "warn"))
        if fact.step is not None:
            runs.append((f"  → step {_seq(fact.seq)}", "dim"))
        lines.append(VerdictLine(tuple(runs), fact.step, len(title) + 3))
    return lines


def _resumable_lines(verdict: TraceVerdict) -> list[VerdictLine]:
    point = verdict.resumable
    if point is None:
        return []
    saved = f"keeps {kept(point)} · risk {point.risk}"
    lines = [
        VerdictLine(
            (("↻ may go on after step ", "ok"), (str(point.seq), "strong"), (f"  {saved}", "dim")), point.step
        )
    ]
    return [*lines, *_evidence_lines("  why not later", point.why_not_later)]


def _seq(seq: int | None) -> str:
    return "?" if seq is None else str(seq)
