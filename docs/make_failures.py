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

When a refused call was got over: when the same object (an id in its arguments) was dealt with later by an act that
succeeded; when what was looked for was found in another way; or when the person was told, answered, and the run ended
properly; a person who was told that a thing is in the wrong state for an act, and left it at that, has settled it. It was
not got over when nothing more was done and the run was handed over to a person, when the arguments were at fault and no
later act made it good, or when the run simply ended with the refusal. So a run can have a primary verdict
although a test of its end state calls it a success: what was asked for could not be done, and was left at that.

A request that failed on its way, one table for the recorder, the recovery and the analysis of any log:

| what became of it | class | may it have been done? |
|---|---|---|
| connection refused, host unreachable, no such name, no connection in time | `timeout.unavailable` | no: never sent |
| connection reset before the first byte had left (the client says so) | `timeout.unavailable` | no: never sent |
| answered 503 | `timeout.unavailable` | no: the service says so |
| answered 500, 502, 504 | `timeout.unavailable` | yes: an effect waits to be settled |
| connection broken: a read, or a log that does not tell whether it was an effect | `timeout.unavailable` | not known, and said so |
| connection broken after an effect was sent | `timeout.no_answer` | yes: an effect waits to be settled |
| read time-out, or the tool's own limit | `timeout.no_answer` | yes: an effect waits to be settled |

How noisy cause labels are: two careful labellings of the same 43 failed runs name the same step in 35 % of them. The
labelled sets are small as well: with 16 to 67 runs each, one run more or less moves a share by 1.5 to 6 points, and the 95 %
intervals that `make accuracy` prints are 20 to 40 points wide. Its shares are a thermometer, with trivial rows beside
them, no promise. The rule about talks (`claim_weight`) names no position, agent or data set: it weighs what a message
brings in that nothing before it had given (names, numbers, words of code) and how much of the talk uses it. Its three weights
were chosen on such sets; the figures for runs that they were not chosen on are printed beside those in sample. The form of
the sum was chosen on the same sets, so that even those are a little too good. The calibration there marks
every rule that fewer than ten labelled verdicts judge as `few`.

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
