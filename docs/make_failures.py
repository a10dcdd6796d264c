"""Writes docs/failures.md from the failure classes: their docstrings, codes, retry advice and rules."""

from __future__ import annotations

from pathlib import Path

from tracekit_analyzers.failures import CLASSES
from tracekit_analyzers.failures._load import confidences
from tracekit_analyzers.model import FailureClass

OPENING = """# Failure classes

Codes are stable: filter and gate on them (`--fail-on tool.schema_changed`). Every verdict carries a failed step, a cause
step, evidence rows tied to steps, and a confidence. The confidence belongs to the rule, not to the single verdict: it is
the share of such verdicts that were right when measured (`make accuracy`, `benchmarks/mutate.py`).

How the verdict of a trace is chosen: one diagnosis for each failing step, where a class that explains a refusal
(`parameter.altered`, `parameter.unknown_reference`, `context.stale_value`, ...) stands for the refusal itself; an error that
repeats upwards is counted once, at the lowest step; an error that the agent saw and got over is *recovered*: listed, never
primary. Of the rest, what stopped the run comes before what the agent went on from, hard evidence before soft, and the
earliest cause first.

How noisy cause labels are: two careful labellings of the same 43 failed runs name the same step in 35 % of them. The
shares that `make accuracy` prints for human-labelled cause steps are a thermometer, with trivial rows beside them.

This page is made by `python docs/make_failures.py`; edit the docstrings under `failures/`.
"""


def page() -> str:
    """The whole page."""
    shares = confidences()
    parts = [OPENING, _contents()]
    parts += [_class(kind, shares) for kind in CLASSES]
    return "\n".join(parts)


def _contents() -> str:
    rows = [f"| `{kind.code}` | {kind.title} | `{kind.retry}` |" for kind in CLASSES]
    return "\n".join(["| code | what a screen shows | retry |", "|---|---|---|", *rows, ""])


def _class(kind: FailureClass, shares: dict[str, float]) -> str:
    text = (getattr(kind, "__doc__", None) or "").strip()
    rules = [f"- `{rule}`: {share:.2f}" for rule, share in shares.items() if rule.startswith(f"{kind.code}/")]
    return "\n".join(
        [f"## `{kind.code}` {kind.title}", "", text, "", "Rules and their confidence:", "", *rules, ""]
    )


if __name__ == "__main__":
    Path(__file__).with_name("failures.md").write_text(page(), encoding="utf-8")
