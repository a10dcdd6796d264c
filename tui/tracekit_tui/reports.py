"""Texts for people elsewhere: a verdict as a message, a table as CSV."""

from __future__ import annotations

import csv
import io

from tracekit_analyzers.model import TraceVerdict
from tracekit_analyzers.reports.as_csv import safe
from tracekit_analyzers.views import Table
from tracekit_tui.text import visible


def verdict_report(verdict: TraceVerdict) -> str:
    """The verdict as text for a ticket or a chat; indented, so that Markdown shows the words of a log and obeys none."""
    lines = [
        f"trace {verdict.trace_id} ({verdict.task_id or verdict.name}): {verdict.status}, {verdict.steps} steps"
    ]
    for number, diagnosis in enumerate(verdict.diagnoses):
        star = "* " if number == verdict.primary else "  "
        cause = f", cause step {diagnosis.cause_seq}" if diagnosis.cause_seq != diagnosis.failed_seq else ""
        lines.append(
            f"{star}{diagnosis.code} at step {diagnosis.failed_seq}{cause} ({diagnosis.confidence:.2f}, {diagnosis.rule})"
        )
        lines.append(f"  {diagnosis.message}")
        for fact in diagnosis.evidence:
            value = "" if fact.value is None else f" = {fact.value}"
            lines.append(f"    - {fact.what} {fact.path or ''}{value} (step {fact.seq})")
    lines.append(f"source: {verdict.source.file}, run {verdict.source.trace_index}")
    return "".join(f"    {visible(line)}\n" for line in lines)


def table_csv(table: Table) -> str:
    """*table* as CSV; a text that a spreadsheet would run as a formula gets a quote in front."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.columns)
    for row in table.rows:
        writer.writerow([safe(value) for value in row])
    return out.getvalue()
