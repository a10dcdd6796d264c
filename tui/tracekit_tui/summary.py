"""A few lines about the trace under the cursor: what failed, why, and what another go is worth."""

from __future__ import annotations

from pathlib import PurePath

from tracekit_analyzers.model import Diagnosis, TraceVerdict
from tracekit_analyzers.views import TraceRow
from tracekit_tui.marks import confidence, counted, duration, glyph, money, run_state, state_words
from tracekit_tui.text import Line, Run, flow, wrap_words

WORTH = {
    "backoff": "worth trying again after a wait",
    "reprompt": "only a second inference that sees the error can help",
    "restore": "go on from before the step that caused it",
    "fix_code": "the code or the tool has to change first",
}
"""What each retry advice means, in a few words."""


def summary_lines(
    row: TraceRow, verdict: TraceVerdict | None, width: int, *, judged: bool, stored: bool = False
) -> list[Line]:
    """
    What the list of traces says about *row*.

    Args:
        judged: The verdicts are known; False while they are being worked out.
        stored: It is a task of a store whose logs are not open.
    """
    state = run_state(row.status, None if stored else row.code)
    sign, ink = glyph(state)
    words = [
        state_words(state),
        counted(row.steps, "step"),
        *([duration(row.duration_ms)] if row.duration_ms is not None else []),
        *([f"{row.tokens:,} tokens"] if row.tokens else []),
        *([money(row.cost)] if row.cost is not None else []),
        # Runs without an id of their own often have one name: their file tells them apart.
        *([f"{row.trace_id[:8]} in {PurePath(row.source.file).name}"] if row.task_id is None else []),
    ]
    name: Run = (row.name if row.task_id is None else f"{row.task_id} · {row.name}", "strong")
    lines = flow([(f"{sign} ", ink), name, (f"  {' · '.join(words)}", "dim")], width, 2)
    if stored:
        if row.code:
            lines.append(((f"! it asks: {row.code}", "warn"),))
        return [*lines, (("from the store alone: Enter shows what may be done", "dim"),)]
    if not judged:
        return [*lines, (("being judged …", "dim"),)]
    if verdict is None or verdict.primary is None:
        return [*lines, _nothing(verdict)]
    lines += _primary(verdict.diagnoses[verdict.primary], width, len(verdict.diagnoses) - 1)
    if verdict.resumable is not None:
        lines[-1] = (*lines[-1], (f" · may go on after step {verdict.resumable.seq}", "ok"))
    return lines


def _nothing(verdict: TraceVerdict | None) -> Line:
    count = len(verdict.diagnoses) if verdict is not None else 0
    if count:
        return ((f"nothing is wrong with its end; the agent got over {counted(count, 'failure')}", "dim"),)
    return (("nothing was found to be wrong", "dim"),)


def _primary(diagnosis: Diagnosis, width: int, others: int) -> list[Line]:
    more = f" · {others:,} more (v)" if others else ""
    lines: list[Line] = [
        (
            ("✗ ", "error"),
            (diagnosis.code, "error"),
            (f"  step {_seq(diagnosis.failed_seq)}", "strong"),
            (f"  confidence {confidence(diagnosis.confidence)}{more}", "dim"),
        ),
        *[(("  ", "plain"), (line, "plain")) for line in wrap_words(diagnosis.message, max(8, width - 2))],
    ]
    if diagnosis.cause_step is not None and diagnosis.cause_step != diagnosis.failed_step:
        lines.append(((f"  cause: step {_seq(diagnosis.cause_seq)}", "warn"),))
    worth = WORTH.get(str(diagnosis.retry), "nothing to try again")
    return [*lines, (("  another go: ", "dim"), (worth, "accent"))]


def _seq(seq: int | None) -> str:
    return "?" if seq is None else str(seq)
