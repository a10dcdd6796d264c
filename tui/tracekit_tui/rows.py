"""How traces, steps and other rows look in a list: their columns."""

from __future__ import annotations

from collections.abc import Sequence

from tracekit_analyzers.views import StepLine, TraceRow
from tracekit_tui.list import Column, text_column
from tracekit_tui.marks import age, duration, glyph, ink_of, money, run_state
from tracekit_tui.text import Ink, Run, clip, fit, visible

BRANCH = "│ "


def trace_columns(marked: set[str]) -> list[Column[TraceRow]]:
    """Columns of the list of traces; *marked* are the ids chosen for a diff."""

    def state(row: TraceRow, width: int) -> Sequence[Run]:
        sign, ink = glyph(run_state(row.status, row.code))
        return [("●" if row.trace_id in marked else " ", "accent"), (sign, ink)]

    def steps(row: TraceRow, width: int) -> Sequence[Run]:
        text = str(row.steps) if row.finished_steps == row.steps else f"{row.finished_steps}/{row.steps}"
        return [(fit(text, width, right=True), "plain")]

    def failed(row: TraceRow, width: int) -> Sequence[Run]:
        if row.failed_name is None:
            return [("–" if row.status != "running" else "– running", "dim")]
        return [
            (f"{row.failed_seq or '?'} ", "dim"),
            (row.failed_name, ink_of(run_state(row.status, row.code))),
        ]

    def code(row: TraceRow, width: int) -> Sequence[Run]:
        if row.code is None:
            return [("–", "dim")]
        doubt = "?" if row.confidence is not None and row.confidence < 0.6 else ""
        return [(row.code + doubt, "error" if not doubt else "warn")]

    return [
        Column("", state, width=2),
        text_column("trace", lambda row: row.trace_id[:8], width=8, from_width=120),
        Column("what", lambda row, width: [(_goal(row, width), "strong")]),
        Column("steps", steps, width=7, right=True),
        Column("fails at", failed, share=0.22),
        Column("class", code, width=25, from_width=74),
        text_column("time", lambda row: duration(row.duration_ms), width=7, from_width=110, right=True),
        text_column("cost", lambda row: money(row.cost), width=8, from_width=90, right=True),
        text_column("age", lambda row: age(row.started_at), width=5, right=True),
    ]


def _goal(row: TraceRow, width: int) -> str:
    if row.task_id is None:
        return row.name
    # Half a name says less than a whole id.
    return f"{row.task_id} · {row.name}" if width >= len(row.task_id) + 12 else row.task_id


def step_columns(waterfall: bool, folded: set[str], *, ended: bool = False) -> list[Column[StepLine]]:
    """
    Columns of the tree: the step itself, its time as a bar, its duration.

    Args:
        ended: No process works on the trace any more: a step still open was left by a killed one.
    """

    def tree(row: StepLine, width: int) -> Sequence[Run]:
        return tree_cell(row, width, folded, ended=ended)

    columns: list[Column[StepLine]] = [
        text_column("#", lambda row: "" if row.placeholder else str(row.seq), width=5, right=True),
        Column("step", tree),
    ]
    if waterfall:
        columns.append(Column("time →", bar, share=0.34, from_width=58))
    columns.append(text_column("took", lambda row: duration(row.duration_ms), width=7, right=True))
    return columns


def tree_cell(row: StepLine, width: int, folded: set[str], *, ended: bool) -> Sequence[Run]:
    """The step with its branch, fold sign, glyph, name, and what was found about it."""
    depth = min(row.depth, max(1, width // 6))
    sign, ink = glyph("killed" if ended and row.status == "running" else row.status)
    fold = ("▸ " if row.step_id in folded else "▾ ") if row.has_children else "  "
    more = "…" if depth < row.depth else ""
    runs: list[Run] = [(more + BRANCH * depth, "dim"), (fold, "dim"), (sign + " ", ink)]
    name = row.tool_name or row.name
    kind = "" if row.kind in ("tool", "step") else row.kind + " "
    if row.placeholder:
        return [*runs, ("(parent is not in the log)", "dim")]
    tint: Ink = "error" if row.code else "warn" if row.cause_of else ink_of(row.status)
    runs += [("" if kind.strip() == name else kind, "dim"), (visible(name), tint)]
    if row.code:
        runs.append((f"  ✗ {row.code}", "error"))
    elif row.cause_of:
        runs.append((f"  → cause of {row.cause_of}", "warn"))
    return runs


def bar(row: StepLine, width: int) -> Sequence[Run]:
    """The step's time within the trace's time; never shorter than one cell, dotted while it runs."""
    if row.started_at is None or width < 4:
        return [("", "dim")]
    start = min(width - 1, max(0, int(row.start_share * width)))
    end = min(width, max(start + 1, round(row.end_share * width)))
    tint: Ink = "error" if row.code or row.status == "error" else "ok"
    if row.status in ("running", "unknown"):
        tint = "warn"
    fill = "▒" if row.status in ("running", "unknown") else "█"
    tiny = end - start == 1 and (row.end_share - row.start_share) * width < 0.5
    return [(" " * start, "plain"), ("▏" if tiny else fill * (end - start), tint)]


def short(text: str, width: int) -> str:
    """One visible line of *text* in at most *width* cells."""
    return clip(visible(text[: width * 4 + 8]), width)
