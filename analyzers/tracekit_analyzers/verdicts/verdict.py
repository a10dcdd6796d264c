"""
From the diagnoses of one trace to its verdict: one for each failing step, recovered ones apart, and the primary one that
says which step failed and which step caused it.

Pure: it gets the diagnoses and a few facts about the steps, and asks no database. That an error which repeats upwards
is counted once, at the lowest step that shows it, is settled before, where errors are recognised.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from tracekit_analyzers.model import Diagnosis, Evidence

EXPLANATIONS = (
    "parameter.altered",
    "parameter.truncated",
    "parameter.generated",
    "output.unparseable",
    "output.missing_field",
    "parameter.unknown_reference",
    "context.stale_value",
    "context.dangling",
    "context.overwritten",
)
"""Classes that say why a call failed; at the same step they stand for the refusal, in this order."""

SYMPTOMS = frozenset(
    {
        "orchestration.unanswered",
        "parameter.wrong_value",
        "tool.rejected",
        "tool.not_found",
        "tool.error",
        "tool.hidden_error",
        "tool.exit_code",
        "process.exception",
    }
)
"""Classes that say how a call was refused, and leave open why."""

PATTERNS = frozenset(
    {
        "orchestration.loop",
        "orchestration.conflict",
        "orchestration.dependency",
        "context.truncated",
        "timeout.slow",
    }
)
"""Classes about a stretch of steps: they stand beside what is said about its last one."""

SILENT = frozenset(
    {
        "parameter.altered",
        "parameter.unknown_reference",
        "context.stale_value",
        "context.overwritten",
        "context.dangling",
        "context.truncated",
        "context.missing_result",
        "output.unfounded",
        "orchestration.conflict",
    }
)
"""Classes of which the agent sees nothing: going on is no sign that it got over them."""

SILENT_RULES = frozenset(
    {
        "tool.schema_changed/keys",
        "tool.schema_changed/types",
        "orchestration.dependency/closed_off",
        "orchestration.dependency/regretted",
    }
)
"""The same of rules whose class has others that do show."""

ACCEPTED_RULES = frozenset({"parameter.unknown_reference/respelled"})
"""Rules about a slip that the tool took as it was meant: told, and got over at once."""

ANSWERS = frozenset({"tool.rejected", "tool.not_found", "tool.exit_code", "parameter.wrong_value"})
"""
Classes that are an answer as good as any: an agent that was told and came to a proper end got over them, unless the call
was left undone (`left_undone` in failures/prelude/60_refusals.sql).
"""

SOFT = frozenset({"output.unfounded", "output.empty", "output.refused", "timeout.slow", "tool.exit_code"})
"""Classes that alone prove no failure."""


OPEN_SHARE, ADMITTED_SHARE = 0.9, 0.8
"""
Share of its confidence that a diagnosis keeps in a run whose outer step ended `ok`: for an act that was left open, and for a
failed call of which only the answer says that it was not made good.
"""


@dataclass(frozen=True, slots=True)
class StepFact:
    """What the verdict has to know about one step."""

    step_id: str
    seq: int
    parent_step_id: str | None
    kind: str
    tool_name: str | None
    status: str
    left_undone: bool = False
    """A refused call that nothing later in the run made good."""
    left_open: str | None = None
    """Of an act without an answer that nothing later settled: how it is known to change something."""
    answer_step: str | None = None
    """The step whose answer says that this call, which failed for good, was not made good."""
    admitted: str | None = None
    """What that answer says."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The diagnoses of a trace in the order of their failed steps, and which of them is the primary one."""

    diagnoses: tuple[Diagnosis, ...]
    primary: int | None


def judge(diagnoses: Iterable[Diagnosis], steps: Sequence[StepFact], *, trace_status: str) -> Verdict:
    """
    The verdict over one trace.

    Args:
        diagnoses: What the classes found, in any order.
        steps: All steps of the trace, by `seq`.
        trace_status: `ok`, `error`, `running`, `killed`, `waiting` or `unknown`.
    """
    found = tuple(diagnoses)
    shown = frozenset(d.failed_step for d in found if not _is_silent(d) and d.code not in PATTERNS)
    one_each = sorted(_one_for_each_step(found), key=_place)
    course = _Course(steps, frozenset(d.failed_step for d in one_each), shown, trace_status)
    settled = tuple(course.settled(d) for d in one_each)
    if trace_status in ("error", "killed") and settled and all(d.recovered for d in settled):
        # The run failed all the same: what came last was not got over.
        settled = (*settled[:-1], replace(settled[-1], recovered=False))
    return Verdict(settled, _primary(settled, course))


def _stays(step: StepFact) -> bool:
    """Whether the failure of a call outlasts the proper end of its run."""
    return step.left_open is not None or step.answer_step is not None


def _is_silent(diagnosis: Diagnosis) -> bool:
    return diagnosis.code in SILENT or diagnosis.rule in SILENT_RULES


def _place(diagnosis: Diagnosis) -> tuple[int, int, str, str]:
    seq = diagnosis.failed_seq
    return (0 if seq is None else seq, diagnosis.cause_seq or 0, diagnosis.code, diagnosis.rule)


def _one_for_each_step(diagnoses: Sequence[Diagnosis]) -> list[Diagnosis]:
    """What is said about one step, merged: an explanation stands for the refusal it explains and takes its evidence."""
    by_step: dict[str | None, list[Diagnosis]] = defaultdict(list)
    kept = []
    for diagnosis in diagnoses:
        if diagnosis.failed_step is None or diagnosis.code in PATTERNS:
            kept.append(diagnosis)
        else:
            by_step[diagnosis.failed_step].append(diagnosis)
    return kept + [_merged(group) for group in by_step.values()]


def _merged(group: list[Diagnosis]) -> Diagnosis:
    first, *rest = sorted(group, key=_weight)
    evidence = dict.fromkeys(item for diagnosis in (first, *rest) for item in diagnosis.evidence)
    return replace(first, evidence=tuple(evidence))


def _weight(diagnosis: Diagnosis) -> tuple[int, int, float, str, str]:
    """Order in which the diagnoses of one step stand for it."""
    if diagnosis.code in EXPLANATIONS and diagnosis.code not in SOFT:
        tier = 1
    elif diagnosis.code in SOFT:
        tier = 3
    else:
        # A time-out, a broken connection or a missing right needs no explanation from the arguments.
        tier = 2 if diagnosis.code in SYMPTOMS else 0
    place = EXPLANATIONS.index(diagnosis.code) if tier == 1 else 0
    return (tier, place, -diagnosis.confidence, diagnosis.code, diagnosis.rule)


class _Course:
    """How a trace went on after a step."""

    def __init__(
        self,
        steps: Sequence[StepFact],
        failed: frozenset[str | None],
        shown: frozenset[str | None],
        trace_status: str,
    ) -> None:
        self._steps = {step.step_id: step for step in steps}
        self._shown = shown
        self._last_good: dict[tuple[str, str | None], int] = {}
        for step in steps:
            if step.status == "ok" and step.step_id not in failed:
                self._last_good[step.kind, step.tool_name if step.kind == "tool" else None] = step.seq
        self._ended_well = trace_status == "ok" and any(
            step.status == "ok" and self._is_top(step) for step in steps
        )
        last = steps[-1] if steps else None
        self._proper_end = (
            trace_status == "ok" and last is not None and last.status == "ok" and last.step_id not in failed
        )

    def _is_top(self, step: StepFact) -> bool:
        """Whether *step* is a whole attempt at the run; later attempts hang below the first one's step."""
        above = self._steps.get(step.parent_step_id or "")
        return (step.kind in ("task", "agent") and step.parent_step_id is None) or (
            step.kind == "task" and above is not None and above.kind == "task"
        )

    def settled(self, diagnosis: Diagnosis) -> Diagnosis:
        """*diagnosis*, with whether it was got over, and what speaks against the `ok` of the run."""
        if self.got_over(diagnosis):
            return replace(diagnosis, recovered=True)
        found = replace(diagnosis, recovered=False)
        step = self._steps.get(diagnosis.failed_step or "")
        if step is None or not self._ended_well or diagnosis.code in PATTERNS or not _stays(step):
            return found
        share = OPEN_SHARE if step.left_open else ADMITTED_SHARE
        evidence = (*diagnosis.evidence, *self._against_the_end(step))
        return replace(found, confidence=round(diagnosis.confidence * share, 3), evidence=evidence)

    def _against_the_end(self, step: StepFact) -> Iterator[Evidence]:
        if step.left_open:
            what = f"it changes something outside ({step.left_open}), and nothing later in the run settled it"
            yield Evidence(step=step.step_id, seq=step.seq, what=what)
        answer = self._steps.get(step.answer_step or "")
        if answer is not None:
            what = "the answer of the run says that it was not done"
            yield Evidence(step=answer.step_id, seq=answer.seq, what=what, value=step.admitted)

    def got_over(self, diagnosis: Diagnosis) -> bool:
        """Whether the agent saw the error and the same operation went well later, or the task as a whole did."""
        if diagnosis.rule in ACCEPTED_RULES:
            return True
        step = self._steps.get(diagnosis.failed_step or "")
        if step is None or (_is_silent(diagnosis) and step.step_id not in self._shown):
            return False
        if diagnosis.code in PATTERNS:
            return False
        again = self._last_good.get((step.kind, step.tool_name if step.kind == "tool" else None), -1)
        if step.left_open:
            return False
        if self._ended_well:
            # That no exception left the run proves nothing about a call of which its own answer says that it failed.
            return not _stays(step)
        if step.left_undone and diagnosis.code in ANSWERS:
            return False
        if again > step.seq and step.kind in ("tool", "model"):
            return True
        return diagnosis.code in ANSWERS and self._proper_end and self.went_on(diagnosis)

    def went_on(self, diagnosis: Diagnosis) -> bool:
        """Whether a model was asked again after an error that it could see."""
        if _is_silent(diagnosis) or diagnosis.code in PATTERNS:
            return False
        seq = diagnosis.failed_seq if diagnosis.failed_seq is not None else -1
        return self._last_good.get(("model", None), -1) > seq


def _primary(diagnoses: Sequence[Diagnosis], course: _Course) -> int | None:
    """Index of the diagnosis that stands for the trace: hard over soft, what stopped it over what it survived, earliest cause."""
    open_ones = [(n, d) for n, d in enumerate(diagnoses) if not d.recovered]
    if not open_ones:
        return None
    # What was cancelled is rarely why: a step beside it failed, or the one around it.
    return min(
        open_ones,
        key=lambda item: (
            _rank(item[1], course),
            item[1].code == "process.cancelled",
            _cause_place(item[1]),
            item[0],
        ),
    )[0]


def _rank(diagnosis: Diagnosis, course: _Course) -> int:
    """
    Which kind of diagnosis stands for a trace before which other.

    What an agent saw and went on from is rarely what broke a run, so an unseen slip comes before it, even a soft one.
    """
    if course.went_on(diagnosis):
        return 3 if diagnosis.code in SOFT else 2
    return 1 if diagnosis.code in SOFT else 0


def _cause_place(diagnosis: Diagnosis) -> int:
    seq = diagnosis.cause_seq if diagnosis.cause_seq is not None else diagnosis.failed_seq
    return 0 if seq is None else seq
