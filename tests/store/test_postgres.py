"""What only the server can do: go away and come back, refuse, and be shared by stores that never met."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.store.dropping_proxy import DroppingProxy
from tests.store.samples import ARGUMENTS, blob, started, step, task
from tests.store.test_contention import at_once
from tracekit import clock
from tracekit.errors import TracekitError
from tracekit.store import open_store, queries
from tracekit.store.contract import AppendEvent, PutStep, Store
from tracekit.store.retention import SWEEP_GRACE_MS

pytestmark = pytest.mark.postgres
psycopg = pytest.importorskip("psycopg")
conninfo = pytest.importorskip("psycopg.conninfo")


@pytest.fixture
def pg_store(postgres_url: str) -> Iterator[Store]:
    store = open_store(postgres_url)
    yield store
    store.close()


def by_hand(url: str, sql: str) -> list[tuple[Any, ...]]:
    """Run *sql* behind the store's back."""
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(sql)
        return list(cursor.fetchall()) if cursor.description else []


def drop_all_connections(url: str) -> None:
    """What a restart of the server looks like to its clients."""
    by_hand(
        url,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'",
    )


def test_a_restart_of_the_server_is_survived(pg_store: Store, postgres_url: str) -> None:
    lease = started(pg_store)
    for number in range(1, 4):
        drop_all_connections(postgres_url)
        assert pg_store.commit(lease, [AppendEvent("e", None, "{}")], durable=True) == number
        drop_all_connections(postgres_url)
        assert len(pg_store.events("t1")) == number


def test_a_server_that_is_not_there_is_unreachable_and_no_password_is_told() -> None:
    with pytest.raises(TracekitError) as caught:
        open_store("postgresql://ann:hunter2@127.0.0.1:1/none")
    assert caught.value.code == "store.unreachable"
    assert "hunter2" not in str(caught.value)
    assert "ann@127.0.0.1:1/none" in str(caught.value)


def test_the_schema_equals_its_migrations(postgres_url: str) -> None:
    def described(scripts: list[str]) -> list[list[tuple[Any, ...]]]:
        by_hand(postgres_url, "DROP SCHEMA IF EXISTS tracekit CASCADE")
        for script in ["CREATE SCHEMA tracekit", *scripts]:
            by_hand(postgres_url, f"SET search_path = tracekit; {script}")
        return [
            by_hand(
                postgres_url,
                "SELECT table_name, column_name, data_type, is_nullable, ordinal_position"
                " FROM information_schema.columns WHERE table_schema = 'tracekit' ORDER BY 1, 5",
            ),
            by_hand(postgres_url, "SELECT indexdef FROM pg_indexes WHERE schemaname = 'tracekit' ORDER BY 1"),
            by_hand(
                postgres_url,
                "SELECT conrelid::regclass::text, pg_get_constraintdef(oid) FROM pg_constraint"
                " WHERE connamespace = 'tracekit'::regnamespace ORDER BY 1, 2",
            ),
        ]

    steps = [migration.sql for migration in queries.migrations("postgres")]
    whole = described([queries.schema("postgres")])
    assert whole == described(steps)
    assert len(whole[0]) > 100


def test_a_store_of_a_newer_tracekit_is_refused(pg_store: Store, postgres_url: str) -> None:
    by_hand(postgres_url, "UPDATE tracekit.store_version SET version = 99")

    with pytest.raises(TracekitError, match="schema 99") as caught:
        open_store(postgres_url)
    assert caught.value.code == "store.newer_schema"


def test_a_user_who_may_only_use_the_tables_opens_the_store(pg_store: Store, postgres_url: str) -> None:
    by_hand(
        postgres_url,
        "DROP ROLE IF EXISTS guest; CREATE ROLE guest LOGIN; GRANT USAGE ON SCHEMA tracekit TO guest;"
        "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA tracekit TO guest",
    )
    guest = open_store(postgres_url.replace("postgres:@", "guest@").replace("postgres@", "guest@"))

    assert "guest" in guest.url
    assert guest.create(task(), [ARGUMENTS])
    guest.close()
    by_hand(postgres_url, "DROP OWNED BY guest; DROP ROLE guest")


@pytest.mark.parametrize(
    ("sql", "place"),
    [
        ("UPDATE tracekit.event SET body = '{}' WHERE seq = 2", "event row at task_id 't1', seq 2"),
        ("UPDATE tracekit.event SET kind = 'f' WHERE seq = 2", "event row at task_id 't1', seq 2"),
    ],
)
def test_a_changed_event_is_told_with_task_and_number(
    pg_store: Store, postgres_url: str, sql: str, place: str
) -> None:
    pg_store.commit(started(pg_store), [AppendEvent("e", None, str(n)) for n in range(3)], durable=True)
    by_hand(postgres_url, sql)

    with pytest.raises(TracekitError, match=place) as caught:
        pg_store.events("t1")
    assert caught.value.code == "store.damaged"


def test_a_changed_body_is_told_by_its_hash(pg_store: Store, postgres_url: str) -> None:
    pg_store.create(task(), [ARGUMENTS])
    by_hand(postgres_url, "UPDATE tracekit.blob SET data = data || 'x'")

    with pytest.raises(TracekitError, match=ARGUMENTS.hash) as caught:
        pg_store.load("t1")
    assert caught.value.code == "store.damaged"


def test_a_fork_leaves_the_connections_of_the_parent_alone(pg_store: Store) -> None:
    lease = started(pg_store)
    child = os.fork()
    if child == 0:
        pg_store.commit(lease, [AppendEvent("child", None, "{}")], durable=True)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    pg_store.commit(lease, [AppendEvent("parent", None, "{}")], durable=True)

    assert [row.kind for row in pg_store.events("t1")] == ["child", "parent"]


def test_bodies_that_nothing_names_are_swept_after_a_while(pg_store: Store, postgres_url: str) -> None:
    lease = started(pg_store)
    message, loose = blob("message"), blob("loose")
    listed = blob("list", refs=(message.hash,))
    pg_store.commit(lease, [message, loose, listed, PutStep(step(raw=listed.hash))], durable=True)
    now_ms = clock.now_ms()
    assert pg_store.prune(before_ms=now_ms) == {}
    by_hand(postgres_url, f"UPDATE tracekit.blob SET stored_ms = stored_ms - {2 * SWEEP_GRACE_MS}")

    assert pg_store.prune(before_ms=now_ms) == {"blob": 1}
    assert len(pg_store.blobs([message.hash, listed.hash, ARGUMENTS.hash])) == 3


def test_a_body_put_again_is_spared_by_the_sweep(pg_store: Store, postgres_url: str) -> None:
    lease = started(pg_store)
    pg_store.commit(lease, [blob("loose")], durable=True)
    by_hand(postgres_url, f"UPDATE tracekit.blob SET stored_ms = stored_ms - {2 * SWEEP_GRACE_MS}")
    pg_store.commit(lease, [blob("loose")], durable=True)

    assert pg_store.prune(before_ms=clock.now_ms()) == {}


def test_old_events_are_thinned(pg_store: Store, postgres_url: str) -> None:
    events = [AppendEvent("review_asked" if n == 7 else "e", None, "{}") for n in range(1, 26)]
    pg_store.commit(started(pg_store), events, durable=True)
    pg_store.prune(before_ms=clock.now_ms() + 86_400_000, keep_every=10)

    assert [row.seq for row in pg_store.events("t1")] == [1, 7, 10, 20, 25]


def test_more_threads_than_connections_wait_for_one_another(pg_store: Store) -> None:
    for name in range(20):
        pg_store.create(task(f"t{name}"), [ARGUMENTS])
    leases = at_once(lambda n: pg_store.claim(owner=f"w{n}", ttl_s=60), count=20)

    assert len({lease.task_id for lease in leases}) == 20  # type: ignore[attr-defined]  # none is None


def test_a_commit_whose_answer_is_lost_is_unknown_and_never_sent_twice(
    pg_store: Store, postgres_url: str
) -> None:
    folder = conninfo.conninfo_to_dict(postgres_url)["host"]
    proxy = DroppingProxy(f"{folder}/.s.PGSQL.5432")
    lease = started(pg_store)
    far = open_store(f"postgresql://postgres@127.0.0.1:{proxy.port}/postgres")
    far.commit(lease, [AppendEvent("first", None, "{}")], durable=True)
    proxy.cut_after = b"COMMIT"

    with pytest.raises(TracekitError, match="may have been kept") as caught:
        far.commit(lease, [AppendEvent("second", None, "{}")], durable=True)
    assert caught.value.code == "store.commit_unknown"
    proxy.cut_after = None
    deadline_s = time.monotonic() + 20
    while len(kinds := [row.kind for row in far.events("t1")]) < 2 and time.monotonic() < deadline_s:
        time.sleep(0.02)
    assert kinds == ["first", "second"]
    far.close()
    proxy.close()
