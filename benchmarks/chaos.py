"""
The kill matrix: SIGKILL at every place of a task, three goes in a row, on SQLite and on PostgreSQL.

    python -m benchmarks.chaos [--store sqlite|postgres|both] [--every 1]

The tasks of `chaos_agent.py` run once without kills, and every named point that they pass is written down with how
often it was passed: these are the places. For each place a new task is killed there; so are its next two goes, if they
come there; then it may end. A person answers its questions by what the world shows. The world's list says then how
often each effect happened, and whether a result that the agent was given ever changed. Ends with 1 if one did.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import tracekit
from benchmarks import chaos_agent as agent
from benchmarks.postgres_server import own_server
from tracekit import clock
from tracekit.durable import points
from tracekit.durable.api import decide
from tracekit.durable.owning import close_all, ownership
from tracekit.model import TaskStatus
from tracekit.recording.setup import shutdown
from tracekit.store.liveness import forget_dead
from tracekit.store.rows import ReviewRow, TaskState

DONE, OTHER, UNKNOWN, WAITING = 0, 3, 4, 5
KILLED_GOES = 3
MOST_GOES = 12
DECISIONS = {"everything": "done", "journey": "rollback"}
ENDS = {"everything": TaskStatus.DONE, "journey": TaskStatus.FAILED}


@dataclass(frozen=True, order=True)
class Place:
    """A point that go number *go* of a task passes for the *nth* time."""

    task: str
    go: int
    point: str
    nth: int


@dataclass
class Case:
    """One task in its own world."""

    url: str
    folder: Path
    task: str
    task_id: str
    kills: int = 0
    goes: int = 0
    questions: int = 0
    said: str = ""

    @property
    def world(self) -> Path:
        """What really happened to this task."""
        return self.folder / f"{self.task_id}.jsonl"

    def go(self, *, kill: str | None = None, passed: Path | None = None) -> int:
        """One process, started or resumed; its exit code, or minus the signal that ended it."""
        words = "start" if self.goes == 0 else "resume"
        code = self._fork(words, kill, passed)
        if code == UNKNOWN:  # killed before it was admitted
            code = self._fork("start", kill, passed)
        self.goes += 1
        self.kills += code == -signal.SIGKILL
        return code

    def _fork(self, words: str, kill: str | None, passed: Path | None) -> int:
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            _child(self, words, kill, passed)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    def state(self) -> TaskState | None:
        """The task as it stands."""
        return ownership(self.url).store.load(self.task_id)

    def answer(self) -> int:
        """Look into the world as a person would, and decide every open question; how many there were."""
        state = self.state()
        waiting = [row for row in state.reviews if row.status == "open"] if state is not None else []
        os.environ["WORLD"] = str(self.world)
        for review in waiting:
            self._decide(review)
        close_all()
        self.questions += len(waiting)
        return len(waiting)

    def _decide(self, review: ReviewRow) -> None:
        found = agent.done_under(review.effect_key) if review.effect_key else None
        decision, result = ("done", found) if found is not None else ("retry", None)
        if review.reason == "ask":
            decision, result = DECISIONS[self.task], "yes" if self.task == "everything" else None
        decide(review.review_id, decision, by="ann", result=result, store=self.url)


def _child(case: Case, words: str, kill: str | None, passed: Path | None) -> None:
    """The process that is killed: it never returns."""
    os.environ["WORLD"] = str(case.world)
    if kill is not None:
        points.add_hook(points.kill_at(kill))
    if passed is not None:
        points.add_hook(lambda name: _note(passed, name))
    code = OTHER
    try:
        with clock.use(agent.Impatient()):
            code = _run(case, words)
            close_all()
            shutdown()
    finally:
        os._exit(code)


def _note(passed: Path, name: str) -> None:
    with passed.open("a") as file:
        file.write(f"{name}\n")


def _run(case: Case, words: str) -> int:
    tracekit.init(service="chaos", home=case.folder / "home", store=case.url)
    try:
        if words == "start":
            agent.TASKS[case.task].start("A-1", task_id=case.task_id, store=case.url)
        else:
            tracekit.resume(case.task_id, store=case.url)
    except tracekit.RequiresReview:
        return WAITING
    except tracekit.TracekitError as error:
        (case.folder / f"{case.task_id}.said").write_text(f"{error.code}: {error}")
        return UNKNOWN if error.code in ("task.unknown", "store.missing") else OTHER
    return DONE


# ------------------------------------------------------------------------------------------ cases


def places(url: str, folder: Path) -> Iterator[Place]:
    """Every point that the tasks pass when nobody kills them, in order."""
    for task in agent.TASKS:
        case = Case(url, folder, task, f"{task}-unkilled")
        code = WAITING
        while code == WAITING:
            passed = folder / f"{task}-{case.goes}.passed"
            go = case.goes
            code = case.go(passed=passed)
            counts: Counter[str] = Counter()
            for name in passed.read_text().splitlines():
                counts[name] += 1
                yield Place(task, go, name, counts[name])
            case.answer()


@dataclass
class Row:
    """What the cases of one point came to."""

    cases: int = 0
    kills: int = 0
    goes: int = 0
    questions: int = 0
    repeated: int = 0
    lost: int = 0
    stuck: int = 0
    said: list[str] = field(default_factory=list)

    @property
    def is_good(self) -> bool:
        """Whether every promise was kept."""
        return not (self.repeated or self.lost or self.stuck) and self.kills >= self.cases


def try_place(url: str, folder: Path, place: Place, number: int) -> Row:
    """Kill a new task at *place* in three goes, see it to its end, and compare the world with the promise."""
    case = Case(url, folder, place.task, f"{place.task}-{number}")
    code = OTHER
    killed_goes = range(place.go, place.go + KILLED_GOES)
    while case.goes < MOST_GOES:
        kill = f"{place.point}#{place.nth}" if case.goes in killed_goes else None
        code = case.go(kill=kill)
        asked = case.answer()
        if code == DONE or (code in (OTHER, WAITING) and not asked):
            break
    state = case.state()
    close_all()
    row = Row(1, case.kills, case.goes, case.questions)
    happened = [line for line in agent.lines() if "did" in line or "ack" in line]
    row.repeated = repeated(happened)
    row.lost = lost(happened, state)
    row.stuck = int(state is None or state.task.status is not ENDS[place.task])
    if not row.is_good:
        said = folder / f"{case.task_id}.said"
        row.said.append(
            f"{place}: exit {code}, {state.task.status.value if state else 'no task'}, {row.repeated} repeated, "
            f"{row.lost} lost, {case.kills} kills {said.read_text() if said.exists() else ''}"
        )
    return row


def repeated(happened: list[dict[str, str]]) -> int:
    """Effects that happened again; none may here, since every decision is made by one who looked first."""
    counts = Counter((line["did"], line["key"]) for line in happened if "did" in line)
    return sum(count - 1 for count in counts.values())


def lost(happened: list[dict[str, str]], state: TaskState | None) -> int:
    """Results that the agent was given and that were others later, and effects that the ledger does not know."""
    given: dict[str, set[str]] = defaultdict(set)
    for line in happened:
        if "ack" in line:
            given[line["ack"]].add(str(line["value"]))
    booked = {row.key for row in state.effects} if state is not None else set()
    unbooked = [line for line in happened if "did" in line and line["key"] not in booked]
    return sum(len(values) - 1 for values in given.values()) + len(unbooked)


def run_store(name: str, url: str, folder: Path, every: int) -> dict[str, Row]:
    """All cases on one store, by point."""
    rows: dict[str, Row] = defaultdict(Row)
    found = list(places(url, folder))
    print(f"{name}: {len(found)} places, {len({place.point for place in found})} points", file=sys.stderr)
    for number, place in enumerate(found[::every]):
        one = try_place(url, folder, place, number)
        total = rows[place.point]
        for field_name in ("cases", "kills", "goes", "questions", "repeated", "lost", "stuck"):
            setattr(total, field_name, getattr(total, field_name) + getattr(one, field_name))
        total.said += one.said
        if number % 20 == 19:
            forget_dead(ownership(url).store)
            close_all()
            _progress(name, number + 1, len(found[::every]))
    return rows


def _progress(name: str, done: int, of: int) -> None:
    if sys.stderr.isatty():
        print(f"\r{name}: {done} of {of}", end="", file=sys.stderr)


def show(name: str, rows: dict[str, Row], took_s: float) -> bool:
    """Print the table; whether every promise was kept."""
    heads = ("cases", "kills", "goes", "questions", "repeated", "lost", "stuck")
    print(f"\n{name:32}" + "".join(f"{head:>10}" for head in heads))
    for point in sorted(rows, key=points.POINTS.index):
        print(f"{point:32}" + "".join(f"{getattr(rows[point], head):>10}" for head in heads))
    total = {head: sum(getattr(row, head) for row in rows.values()) for head in heads}
    print(f"{'all':32}" + "".join(f"{total[head]:>10}" for head in heads) + f"   {took_s:.0f} s")
    for row in rows.values():
        for words in row.said:
            print("BROKEN", words)
    return all(row.is_good for row in rows.values())


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--store", choices=("sqlite", "postgres", "both"), default="both")
    parser.add_argument("--every", type=int, default=1, help="only every so many-th place")
    options = parser.parse_args()
    kept = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        os.environ["TRACEKIT_HOME"] = str(folder / "home")
        for name in ("sqlite", "postgres"):
            if options.store not in (name, "both"):
                continue
            url = f"sqlite:{folder / 'state.db'}"
            if name == "postgres":
                url = stack.enter_context(own_server()).url
            begun_s = time.monotonic()
            (folder / name).mkdir()
            rows = run_store(name, url, folder / name, options.every)
            kept.append(show(name, rows, time.monotonic() - begun_s))
    print("\nno effect repeated, no result lost, every task ended" if all(kept) else "\nA PROMISE IS BROKEN")
    return int(not all(kept))


if __name__ == "__main__":
    raise SystemExit(main())
