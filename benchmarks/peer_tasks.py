"""
The same work on each system, run by `recovery_peers.py` in processes of their own: needs nothing but that system.

    python peer_tasks.py SYSTEM WORK FOLDER HOW [KILL]

SYSTEM is `tracekit`, `dbos` or `langgraph`; HOW is `start` or `resume`. WORK is `kill` (five effects), `cost` (steps with
a result of 2 KB), `grow` (steps that each add 2 KB to a talk that every step is given) or `long` (100 steps, then one
more). KILL is `before:N`, `in:N` or `after:N`: SIGKILL before the effect of step N, after it but before its step
returned, after its step returned. Findings go to FOLDER/found.jsonl, effects to FOLDER/world.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

EFFECTS, COST_STEPS, GROW_STEPS, LONG_STEPS = 5, 500, 500, 100
BODY_BYTES = 2000
ENTERED_S = time.perf_counter()


def text(seed: int) -> str:
    """2 KB that no other step has and that does not compress to nothing."""
    dice = random.Random(seed)
    return " ".join(f"order{dice.randrange(10**6)}" for _ in range(400))[:BODY_BYTES]


class Work:
    """What a step does, apart from the system that runs it."""

    def __init__(self, work: str, folder: Path, kill: str) -> None:
        self.work = work
        self.folder = folder
        self.kill = kill
        self.begun_s: list[float] = []
        """When each step's body was entered."""
        self.ready_s = ENTERED_S
        """When all was imported and declared, and the system was asked to start or to resume."""

    @property
    def steps(self) -> int:
        """How many there are."""
        return {"kill": EFFECTS, "cost": COST_STEPS, "grow": GROW_STEPS, "long": LONG_STEPS + 1}[self.work]

    def body(self, number: int) -> str:
        """One step: its effect in the world, where the work has any."""
        self.begun_s.append(time.perf_counter())
        if self.work == "long" and number == LONG_STEPS:
            now_s = time.perf_counter()
            self.tell(process_ms=(now_s - ENTERED_S) * 1000, resume_ms=(now_s - self.ready_s) * 1000)
        self.die("before", number)
        if self.work == "kill":
            with (self.folder / "world").open("a") as world:
                world.write(f"{number}\n")
        self.die("in", number)
        return text(number)

    def die(self, when: str, number: int) -> None:
        """SIGKILL, if it is time."""
        if self.kill == f"{when}:{number}":
            os.kill(os.getpid(), signal.SIGKILL)

    def tell(self, **found: Any) -> None:
        """One finding for the parent."""
        with (self.folder / "found.jsonl").open("a") as file:
            file.write(json.dumps(found) + "\n")

    def ready(self) -> None:
        """All is imported and declared."""
        self.ready_s = time.perf_counter()

    def end(self) -> None:
        """Tell what the steps took: from the entry of one to the entry of the next, all bookkeeping in between."""
        gaps = [(b - a) * 1000 for a, b in zip(self.begun_s, self.begun_s[1:], strict=False)]
        if self.work in ("cost", "grow") and len(gaps) > 20:
            last = gaps[-len(gaps) // 5 :]
            self.tell(
                median_ms=statistics.median(gaps),
                p99_ms=statistics.quantiles(gaps, n=100)[98],
                last_fifth_ms=statistics.median(last),
            )
        self.tell(ended=True)


# ---------------------------------------------------------------------------------------- the systems


def run_tracekit(work: Work, how: str) -> None:
    """Effects through the ledger; in `grow` a model is asked with the whole talk."""
    import tracekit
    from tracekit.durable.owning import close_all

    def probe(idempotency_key: str, number: int) -> str | None:
        world = work.folder / "world"
        return text(number) if world.exists() and f"{number}\n" in world.read_text() else None

    @tracekit.tool(effect="payment", probe=probe)
    def effect(number: int) -> str:
        return work.body(number)

    @tracekit.task(name="peer_tasks:flow")
    def flow(run: Any, steps: int) -> str:
        messages: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
        for number in range(steps):
            if work.work == "grow":
                reply = run.model(lambda _: work.body(len(messages) - 1), messages)
                messages.append(reply.message)
            else:
                effect(number)
            work.die("after", number)
        return "ok"

    @tracekit.task(name="peer_tasks:warm")
    def warm(run: Any) -> None:
        """Opens the store and imports what is imported late."""
        run.note(warm=True)

    tracekit.init(service="peer", home=work.folder / "home")
    if how == "resume":
        warm.start()
    work.ready()
    flow.start(work.steps, task_id="t") if how == "start" else tracekit.resume("t")
    tracekit.shutdown()
    close_all()


def run_dbos(work: Work, how: str) -> None:
    """One step for each effect; a pending workflow is recovered at launch."""
    from dbos import DBOS, SetWorkflowID

    url = f"sqlite:///{work.folder / 'state.db'}"
    DBOS(
        config={
            "name": "peer",
            "system_database_url": url,
            "log_level": "CRITICAL",
            "run_admin_server": False,
        }
    )

    @DBOS.step()
    def effect(number: int) -> str:
        return work.body(number)

    @DBOS.workflow()
    def flow(steps: int) -> str:
        for number in range(steps):
            effect(number)
            work.die("after", number)
        return "ok"

    work.ready()
    DBOS.launch()
    if how == "start":
        with SetWorkflowID("W"):
            flow(work.steps)
    else:
        deadline_s = time.monotonic() + 20
        while time.monotonic() < deadline_s:
            status = DBOS.get_workflow_status("W")
            if status is not None and status.status not in ("PENDING", "ENQUEUED"):
                break
            time.sleep(0.02)
        else:
            raise TimeoutError("not recovered")
    DBOS.destroy()


def run_langgraph(work: Work, how: str) -> None:
    """One super-step for each effect under durability `sync`; in `grow` the talk is part of the state."""
    import operator
    from typing import Annotated, TypedDict

    warnings.filterwarnings("ignore")
    from langgraph.checkpoint.sqlite import SqliteSaver
    from langgraph.graph import END, START, StateGraph

    talk = Annotated[list, operator.add] if work.work == "grow" else list
    state = TypedDict("state", {"i": int, "messages": talk})  # noqa: UP013  its types are known only here

    def node(given: Any) -> dict[str, Any]:
        number = given["i"]
        work.die("after", number - 1)
        return {"i": number + 1, "messages": [work.body(number)]}

    graph = StateGraph(state)
    graph.add_node("step", node)
    graph.add_edge(START, "step")
    graph.add_conditional_edges("step", lambda s: END if s["i"] >= work.steps else "step", [END, "step"])
    connection = sqlite3.connect(work.folder / "state.db", check_same_thread=False)
    app = graph.compile(checkpointer=SqliteSaver(connection))
    config = {"configurable": {"thread_id": "t"}, "recursion_limit": work.steps + 10}
    work.ready()
    app.invoke({"i": 0, "messages": []} if how == "start" else None, config, durability="sync")
    connection.close()


SYSTEMS: dict[str, Callable[[Work, str], None]] = {
    "tracekit": run_tracekit,
    "dbos": run_dbos,
    "langgraph": run_langgraph,
}


def main() -> None:
    system, work, folder, how, *kill = sys.argv[1:]
    found = Work(work, Path(folder), kill[0] if kill else "")
    SYSTEMS[system](found, how)
    found.end()
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
