"""Several real processes on one store: none fails, nothing is lost, nothing is done twice."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.store.samples import ARGUMENTS, started, task, waiting_review
from tracekit.errors import Conflict
from tracekit.store import open_store
from tracekit.store.contract import AppendEvent, Store

WRITER = """
import sys
from tests.store.samples import blob, started
from tracekit.store import open_store
from tracekit.store.contract import AppendEvent
store = open_store(sys.argv[1])
lease = started(store, sys.argv[2])
for n in range(int(sys.argv[3])):
    store.load(sys.argv[2])
    store.commit(lease, [blob(f"shared {n % 7}"), AppendEvent("e", None, "{}")], durable=n % 3 == 0)
print('"done"')
"""

CLAIMER = """
import json, sys
from tracekit.model import TaskStatus
from tracekit.store import open_store
from tracekit.store.contract import AppendEvent, UpdateTask
store = open_store(sys.argv[1])
done = []
while (lease := store.claim(owner=sys.argv[2], ttl_s=600)) is not None:
    store.commit(lease, [AppendEvent("ran", None, "{}"), UpdateTask({"status": TaskStatus.DONE})], durable=True)
    done.append(lease.task_id)
print(json.dumps(done))
"""

STOPPED = """
import json, sys
from tests.store.samples import ARGUMENTS, task
from tracekit.errors import LeaseLost
from tracekit.store import open_store
from tracekit.store.contract import AppendEvent
store = open_store(sys.argv[1])
store.create(task(), [ARGUMENTS])
lease = store.acquire("t1", owner="slow", ttl_s=0)
store.commit(lease, [AppendEvent("slow", None, "{}")], durable=True)
print("working", flush=True)
sys.stdin.readline()
try:
    store.commit(lease, [AppendEvent("slow again", None, "{}")], durable=True)
except LeaseLost:
    print("stopped", flush=True)
"""

DECIDER = """
import json, sys
from tracekit.errors import Conflict
from tracekit.store import open_store
store = open_store(sys.argv[1])
try:
    row = store.decide("r1", decision=sys.argv[3], by=sys.argv[2], args_digest="d" * 32, payload=None, now_ms=1)
    print(json.dumps(["won", row.decided_by, row.decision]))
except Conflict:
    print(json.dumps(["lost"]))
"""


CLAIMS_QUESTION = DECIDER.replace(
    'store.decide("r1", decision=sys.argv[3], by=sys.argv[2], args_digest="d" * 32, payload=None, now_ms=1)',
    'store.claim_review("r1", by=sys.argv[2], for_s=900)',
).replace("row.decided_by, row.decision", "row.claimed_by")


def in_processes(script: str, argument_lists: Sequence[Sequence[str]]) -> list[Any]:
    """What the script prints as JSON, run at the same time with each of the argument lists."""
    processes = [
        subprocess.Popen([sys.executable, "-c", script, *arguments], stdout=subprocess.PIPE, text=True)
        for arguments in argument_lists
    ]
    answers = [process.communicate(timeout=240)[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * len(processes)
    return [json.loads(answer) for answer in answers]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def shared_url(request: pytest.FixtureRequest, tmp_path: Any) -> str:
    """A store that other processes can open; memory is not one."""
    if request.param == "sqlite":
        return f"sqlite:{tmp_path / 'state.db'}"
    return str(request.getfixturevalue("postgres_url"))


def test_four_processes_that_write_and_read_all_the_time_all_succeed(shared_url: str) -> None:
    transactions = 150
    in_processes(WRITER, [[shared_url, f"t{n}", str(transactions)] for n in range(4)])

    store = open_store(shared_url)
    for n in range(4):
        assert len(store.events(f"t{n}")) == transactions
    store.close()


def test_four_processes_that_create_the_store_at_once_all_succeed(shared_url: str) -> None:
    in_processes(WRITER, [[shared_url, f"t{n}", "1"] for n in range(4)])

    store = open_store(shared_url)
    assert [(row.task_id, len(store.events(row.task_id))) for row in store.tasks()] == [
        (f"t{n}", 1) for n in range(4)
    ]
    store.close()


def test_each_task_is_claimed_by_one_process_and_run_once(shared_url: str) -> None:
    store = open_store(shared_url)
    for n in range(60):
        store.create(task(f"t{n:02}"), [ARGUMENTS])
    claimed = in_processes(CLAIMER, [[shared_url, f"w{n}"] for n in range(4)])

    counts = Counter(name for names in claimed for name in names)
    assert counts == Counter(f"t{n:02}" for n in range(60))
    assert all(len(store.events(name)) == 1 for name in counts)
    store.close()


def test_of_two_people_who_decide_at_once_one_wins(shared_url: str) -> None:
    store = open_store(shared_url)
    waiting_review(store)
    answers = in_processes(DECIDER, [[shared_url, "ann", "retry"], [shared_url, "bob", "skip"]])

    winner = next(answer for answer in answers if answer[0] == "won")
    assert sorted(answer[0] for answer in answers) == ["lost", "won"]
    row = store.reviews(open_only=False)[0]
    assert [row.decided_by, row.decision, row.version] == [*winner[1:], 1]
    store.close()


def test_of_two_people_who_claim_a_question_at_once_one_has_it(shared_url: str) -> None:
    store = open_store(shared_url)
    waiting_review(store)
    answers = in_processes(CLAIMS_QUESTION, [[shared_url, "ann"], [shared_url, "bob"]])

    assert sorted(answer[0] for answer in answers) == ["lost", "won"]
    assert [claim.claimed_by for claim in store.claims()] == [
        answer[1] for answer in answers if answer[0] == "won"
    ]
    store.close()


def test_a_process_that_was_stopped_past_its_lease_writes_nothing_more(shared_url: str) -> None:
    store = open_store(shared_url)
    with subprocess.Popen(
        [sys.executable, "-c", STOPPED, shared_url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as slow:
        try:
            assert slow.stdout is not None
            assert slow.stdout.readline() == "working\n"
            slow.send_signal(signal.SIGSTOP)
            lease = store.acquire("t1", owner="fast", ttl_s=60)
            assert lease is not None
            slow.send_signal(signal.SIGCONT)

            assert slow.communicate("go on\n", timeout=60)[0] == "stopped\n"
        finally:
            slow.kill()
    store.commit(lease, [AppendEvent("fast", None, "{}")], durable=True)
    assert [(row.kind, row.fence) for row in store.events("t1")] == [("slow", 1), ("fast", 2)]
    store.close()


def at_once(work: Callable[[int], object], count: int = 8) -> list[object]:
    """What *work* gives or raises in *count* threads that begin together."""
    gate = threading.Barrier(count)
    results: list[object] = [None] * count

    def run(number: int) -> None:
        gate.wait()
        try:
            results[number] = work(number)
        except Conflict as error:
            results[number] = error

    threads = [threading.Thread(target=run, args=[number]) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_of_many_threads_one_decides(store: Store) -> None:
    waiting_review(store)
    results = at_once(
        lambda n: store.decide(
            "r1", decision="retry", by=f"person {n}", args_digest="d" * 32, payload=None, now_ms=1
        )
    )

    assert sum(isinstance(result, Conflict) for result in results) == 7


def test_of_many_threads_one_gets_the_task(store: Store) -> None:
    store.create(task(), [ARGUMENTS])
    results = at_once(lambda n: store.acquire("t1", owner=f"w{n}", ttl_s=60))

    assert sum(result is not None for result in results) == 1


def test_of_many_threads_one_admits_the_task(store: Store) -> None:
    results = at_once(lambda n: store.create(task(goal=f"goal {n}"), [ARGUMENTS]))

    assert results.count(True) == 1
    assert results.count(False) == 7


def test_threads_that_share_a_lease_lose_no_event(store: Store) -> None:
    lease = started(store)
    at_once(
        lambda n: [store.commit(lease, [AppendEvent(f"e{n}", None, "{}")], durable=False) for _ in range(10)]
    )

    events = store.events("t1")
    assert [row.seq for row in events] == list(range(1, 81))
    assert Counter(row.kind for row in events) == Counter({f"e{n}": 10 for n in range(8)})
