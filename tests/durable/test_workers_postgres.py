"""Worker processes of several machines on one PostgreSQL server that is stopped, cut off and started again."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from benchmarks.postgres_server import Server
from benchmarks.worker_scale import play
from tests.durable.test_workers import Workers, wait_until
from tracekit.durable.owning import close_all, ownership
from tracekit.model import TaskStatus
from tracekit.store import open_store
from tracekit.store.queries import statements, with_parameters
from tracekit.store.rows import TaskRow

pytestmark = pytest.mark.postgres
APP_FOLDER = str(Path(__file__).parents[2])


@pytest.fixture
def server(postgres_url: str) -> Server:
    """The session's server as one that may be restarted, with no store in it."""
    with psycopg.connect(postgres_url) as connection:
        row = connection.execute("SHOW data_directory").fetchone()
    assert row is not None
    return Server(Path(row[0]))


@pytest.fixture
def workers(tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workers]:
    made = Workers(tmp_path, server.url)
    monkeypatch.setenv("WORLD", str(made.world))
    monkeypatch.syspath_prepend(APP_FOLDER)
    yield made
    for worker in made.started:
        if worker.poll() is None:
            os.kill(worker.pid, signal.SIGKILL)
        worker.communicate()
    close_all()


def puts(workers: Workers) -> list[str]:
    return [line.split()[1] for line in workers.lines() if line.startswith("put")]


def is_waiting(workers: Workers, times: int = 1) -> bool:
    return sum(line.startswith("waiting") for line in workers.lines()) == times


@pytest.mark.parametrize("mode", ["immediate", "fast"])
def test_a_restart_of_the_server_in_mid_task_is_survived(
    workers: Workers, server: Server, tmp_path: Path, mode: str
) -> None:
    gate = tmp_path / "gate"
    workers.submit("job", gate)
    worker = workers.start()
    wait_until(lambda: is_waiting(workers))

    server.restart(mode=mode)
    gate.touch()
    wait_until(lambda: workers.row("job").status is TaskStatus.DONE)

    assert puts(workers) == ["job-1", "job-2"]
    assert (workers.row("job").attempt, worker.poll()) == (1, None)


def test_a_worker_waits_for_a_server_that_is_not_there_yet(workers: Workers, server: Server) -> None:
    workers.submit("job")
    close_all()
    server.stop()
    try:
        worker = workers.start()
        assert worker.stderr is not None
        said = worker.stderr.readline()
    finally:
        server.start()
    wait_until(lambda: workers.row("job").status is TaskStatus.DONE)

    assert "waiting for the store" in said
    assert worker.poll() is None


def test_a_worker_stopped_past_its_lease_loses_its_task_to_another_machine_and_writes_nothing_more(
    workers: Workers, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    workers.submit("job", gate)
    first = workers.start("--lease-s", "1", home=tmp_path / "one")
    wait_until(lambda: is_waiting(workers))
    os.kill(first.pid, signal.SIGSTOP)
    others = [workers.start(home=tmp_path / name) for name in ("two", "three")]
    wait_until(lambda: is_waiting(workers, 2))
    gate.touch()
    wait_until(lambda: workers.row("job").status is TaskStatus.DONE and workers.row("job").owner is None)
    before = ownership(workers.url).store.load("job")

    os.kill(first.pid, signal.SIGCONT)
    assert first.stdout is not None
    said = first.stdout.readline()

    assert said.split("\t")[:2] == ["job", "lost"]
    assert ownership(workers.url).store.load("job") == before
    assert puts(workers) == ["job-1", "job-2"]
    assert {line.split()[2] for line in workers.lines() if line.startswith("put job-2")} <= {
        str(other.pid) for other in others
    }
    assert workers.row("job").recoveries == 1


def test_a_crowd_of_tasks_survives_killed_workers_and_a_restart_of_the_server(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD", "")  # put back afterwards
    found = play(server, tmp_path, tasks=40, workers=3, kills=3, restarts=1)

    assert found.died == ()
    assert (found.statuses[TaskStatus.DONE.value], found.killed, found.restarted) == (40, 3, 1)
    assert (found.once, found.repeated, found.missing) == (120, 0, 0)


def test_the_next_task_is_found_through_the_index_behind_thousands_of_open_questions(server: Server) -> None:
    store = open_store(server.url)
    store.create(TaskRow("t", "a" * 32, "b" * 16, "m:f", "c" * 32, created_ms=9999), [])
    sql = with_parameters(
        statements("postgres")["waiting_task"].replace("%", "%%"), lambda name: f"%({name})s"
    )
    given = {"now_ms": 1, "dead": ["x"], "alive": ["y"], "functions": ["m:f"], "skip": []}
    with psycopg.connect(server.url, options="-c search_path=tracekit") as connection:
        names = connection.execute("SELECT * FROM task").description or []
        columns = [column.name for column in names if column.name not in ("task_id", "status", "created_ms")]
        rest = ", ".join(columns)
        connection.execute(
            f"INSERT INTO task (task_id, status, created_ms, {rest})"
            f" SELECT 'q' || n, 'requires_review', n, {rest} FROM task, generate_series(1, 5000) AS n".encode()
        )
        connection.execute(
            "INSERT INTO review (review_id, task_id, reason, panel, args_digest, status, version, created_ms, crc)"
            " SELECT 'r' || task_id, task_id, 'ask', '{}', '', 'open', 0, 1, 0 FROM task WHERE task_id LIKE 'q%'"
        )
        connection.execute("ANALYZE task")
        connection.execute("ANALYZE review")
        plan = [
            str(row[0]) for row in connection.execute(f"EXPLAIN (ANALYZE, BUFFERS) {sql}".encode(), given)
        ]
        found = connection.execute(sql.encode(), given).fetchall()
        connection.rollback()
    store.close()

    shown = "\n".join(plan)
    read = int(re.findall(r"shared hit=(\d+)", shown)[0])
    assert found == [("t",)]
    assert "Index Scan using task_runnable on task" in shown, shown
    assert "Seq Scan" not in shown, shown
    assert "Rows Removed by Filter" not in shown, shown
    assert read < 100, shown
