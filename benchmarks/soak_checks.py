"""What `soak.py` compares at the end: the world's list, the ledger, the queue of questions, what was told, the log."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tracekit.model import EffectStatus, TaskStatus
from tracekit.snapshot import decode
from tracekit.store.rows import EffectRow, ReviewRow, StepRow, TaskState

Row = Mapping[str, Any]
HAPPENED = {EffectStatus.SUCCESS: {1}, EffectStatus.FAILED: {0}, EffectStatus.EXECUTED_UNKNOWN: {0, 1}}
"""How often the world may know an effect of each status; every other status is wrong once all has settled."""
REOPENED_MS = 1500
"""How long after it was full a process may still believe so: it looks again each second."""
ANALYZE_READ = (0, 3)
"""Exit codes of `tracekit analyze`: clean, and read with damage."""


@dataclass
class Verdict:
    """What was counted, and every promise that was found broken, in words."""

    counts: dict[str, Any] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class World:
    """The world's list by what the ledger knows of it."""

    refunds: Counter[str]
    """By idempotency key."""
    mails: Counter[str]
    """By text, which names the refund."""
    rows: Sequence[Row]

    @classmethod
    def of(cls, rows: Sequence[Row]) -> World:
        return cls(
            Counter(str(row["key"]) for row in rows if row["kind"] == "refund"),
            Counter(str(row["text"]) for row in rows if row["kind"] == "notification"),
            rows,
        )

    def row(self, effect: EffectRow, state: TaskState) -> Row | None:
        """What the world knows of *effect*."""
        return next((row for row in self.rows if _is_of(row, effect, state)), None)

    def times(self, effect: EffectRow, state: TaskState) -> int:
        """How often *effect* really happened."""
        if effect.tool == "refund":
            return self.refunds[effect.key]
        return self.mails[_text(effect, state)]


def _is_of(row: Row, effect: EffectRow, state: TaskState) -> bool:
    if effect.tool == "refund":
        return bool(row.get("key") == effect.key)
    return bool(row.get("text") == _text(effect, state))


def _text(effect: EffectRow, state: TaskState) -> str:
    """What the mail of *effect* says."""
    return str(decode(state.blobs[effect.args])["text"])


def compare(states: Sequence[TaskState], rows: Sequence[Row], *, answered: bool) -> Verdict:
    """
    The ledger and the questions of all tasks against the world's list.

    Args:
        answered: Whether a person has answered every question, so that none may be left.
    """
    verdict, world = Verdict(), World.of(rows)
    for state in states:
        verdict.broken += [f"{state.task.task_id}: {words}" for words in _of_task(state, world, answered)]
    booked = {effect.key for state in states for effect in state.effects}
    verdict.broken += [f"refund {key} is in no ledger" for key in world.refunds if key not in booked]
    verdict.broken += [f"mail {text!r} went out {n} times" for text, n in world.mails.items() if n > 1]
    waiting = [row for state in states for row in state.reviews if row.status == "open"]
    verdict.counts = {
        "ends": Counter(state.task.status.value for state in states),
        "waiting": Counter(row.reason for row in waiting),
        "refunds": world.refunds.total(),
        "paid twice": sum(count > 1 for count in world.refunds.values()),
        "mails": world.mails.total(),
        "sent twice": sum(count > 1 for count in world.mails.values()),
    }
    return verdict


def _of_task(state: TaskState, world: World, answered: bool) -> list[str]:
    task, found = state.task, []
    asked = [row for row in state.reviews if row.status == "open"]
    if task.status is TaskStatus.REQUIRES_REVIEW and not answered:
        found += [] if asked else ["waits for a person, but no question is open"]
    elif not task.status.is_final:
        found.append(f"has not settled: {task.status.value}")
    elif asked:
        found.append(f"{task.status.value} with an open question {asked[0].review_id}")
    paid = sum(world.refunds[effect.key] for effect in state.effects if effect.tool == "refund")
    if paid > 1 or (task.status.is_final and paid != 1):
        found.append(f"{task.status.value} and paid {paid} times")
    for effect in state.effects:
        found += _of_effect(effect, state, world, asked)
    return found


def _of_effect(effect: EffectRow, state: TaskState, world: World, asked: Sequence[ReviewRow]) -> list[str]:
    times, found = world.times(effect, state), []
    if times not in HAPPENED.get(effect.status, set()):
        found.append(f"{effect.tool} {effect.key} is {effect.status.value} and happened {times} times")
    named = any(row.effect_key == effect.key for row in asked)
    if effect.status is EffectStatus.EXECUTED_UNKNOWN and not named:
        found.append(f"{effect.tool} {effect.key} is unknown and no open question names it")
    return found


# ------------------------------------------------------------------------------------ what was told


def told_and_lost(states: Sequence[TaskState], submitted: Sequence[str], told: Sequence[str]) -> list[str]:
    """Tasks that were admitted and are not there; ends that a worker told and the store does not know."""
    by_id = {state.task.task_id: state.task for state in states}
    found = [f"{name}: was admitted and is gone" for name in submitted if name not in by_id]
    for line in told:
        name, _, word = line.partition("\t")
        if word.startswith("done") and (name not in by_id or by_id[name].status is not TaskStatus.DONE):
            found.append(f"{name}: a worker told done, the store does not")
    return found


def changed_answers(requests: Sequence[Row], rows: Sequence[Row]) -> tuple[int, list[str]]:
    """
    Answers of the payment service that the agent was given, as the model was shown them: how many, and those that
    were another one in a later request of the same task, or that the world does not know.
    """
    shown: dict[str, set[str]] = defaultdict(set)
    for request in requests:
        messages = request["body"]["messages"]
        ticket = re.search(r"soak-\d+", str(messages[1]["content"]))
        if ticket:
            shown[ticket.group()] |= {
                found
                for message in messages
                if message["role"] == "tool"
                for found in re.findall(r'"refund_id": ?"(R-\d+)"', str(message["content"]))
            }
    known = {row["refund_id"] for row in rows if row["kind"] == "refund"}
    given = {name: ids for name, ids in shown.items() if ids}
    broken = [f"{name}: was given {sorted(ids)}" for name, ids in given.items() if len(ids) > 1]
    broken += [
        f"{name}: was given {ids - known}, unknown to the world" for name, ids in given.items() if ids - known
    ]
    return len(given), broken


# ------------------------------------------------------------------------------------------ the log


@dataclass
class Log:
    """What the files of the log hold, read without any code of ours."""

    files: int = 0
    lines: int = 0
    bad: int = 0
    lost: int = 0
    """Lines that could not be written, as the log tells itself."""
    drops: int = 0
    """Lines that tell of lost ones; analysis lists each with the damage."""
    steps: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, traces: Path) -> Log:
        log = cls()
        for path in sorted(traces.glob("*.jsonl")):
            log.files += 1
            for line in path.read_bytes().splitlines():
                log._add(line)
        return log

    def _add(self, line: bytes) -> None:
        self.lines += 1
        try:
            record = json.loads(line)
        except ValueError:
            self.bad += 1
            return
        if record["record"] == "drops":
            self.lost += record["count"]
            self.drops += 1
        if record["record"] == "step":
            self.steps.add(record["step_id"])


def read_log(traces: Path, states: Sequence[TaskState], full_ms: Sequence[tuple[int, int]]) -> Verdict:
    """
    The log against the store, and `tracekit analyze` against an own count of damage.

    Args:
        full_ms: When the disk was full: a step that was under way then may be missing, no other may.
    """
    verdict, log = Verdict(), Log.of(traces)
    missing = [(step, state) for state in states for step in state.steps if step.step_id not in log.steps]
    unexplained = [step for step, state in missing if not _overlaps(step, state, full_ms)]
    verdict.broken += [
        f"{step.task_id} {step.name} {step.place} try {step.tries}: not in the log, the disk had room ({step.started_ms})"
        for step in unexplained
    ]
    verdict.counts = {
        "files, lines": f"{log.files}, {log.lines}",
        "damaged lines": log.bad,
        "lost lines that it tells": log.lost,
        "steps missing while the disk was full": len(missing) - len(unexplained),
        "steps missing otherwise": len(unexplained),
    }
    command = [sys.executable, "-m", "tracekit", "analyze", str(traces), "--format", "json"]
    run = subprocess.run(command, capture_output=True, check=False)
    if run.returncode not in ANALYZE_READ:
        verdict.broken.append(f"analyze ended with {run.returncode}: {run.stderr.decode()[-300:]}")
        return verdict
    report = json.loads(run.stdout)["summary"]
    verdict.counts |= {"traces analysed": report["traces"], "diagnoses": report["by_code"]}
    told = report["damage"]["bad_count"], report["damage"]["lost"]
    if told != (log.bad + log.drops, log.lost):
        verdict.broken.append(
            f"{log.bad} lines are damaged, {log.drops} tell of {log.lost} lost ones; analyze tells {told[0]} and {told[1]}"
        )
    return verdict


def _overlaps(step: StepRow, state: TaskState, spans_ms: Sequence[tuple[int, int]]) -> bool:
    """
    Whether one of the tries of *step* may have begun in one of the spans.

    Its row says when the last owner took it up and when it ended; the ledger says when its effect was booked.
    """
    booked_ms = [effect.intent_ms for effect in state.effects if effect.place == step.place]
    begun_ms = min([step.started_ms, *booked_ms])
    ended_ms = step.finished_ms or step.started_ms
    return any(since <= ended_ms and begun_ms <= until + REOPENED_MS for since, until in spans_ms)
