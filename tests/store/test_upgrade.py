"""A store of an older schema is brought up to date when it is opened, and keeps its rows."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from tests.store.samples import waiting_review
from tracekit.snapshot import digest
from tracekit.store import open_store, queries
from tracekit.store.contract import PutBlob
from tracekit.store.rows import TaskRow
from tracekit.store.sqlite import SqliteStore

ARGUMENTS = b'{"args":[],"kwargs":{}}'
TASK = TaskRow("t", "a" * 32, "b" * 16, "m:f", digest(ARGUMENTS), goal="pay it back", created_ms=1)


def indexes(path: Path) -> set[str]:
    connection = apsw.Connection(str(path))
    rows = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'index'").fetchall()
    connection.close()
    return {str(row[0]) for row in rows}


def test_a_file_of_the_first_schema(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    now = SqliteStore(path)
    now.create(TASK, [PutBlob(digest(ARGUMENTS), ARGUMENTS)])
    now.close()
    wanted = indexes(path)
    connection = apsw.Connection(str(path))
    connection.execute("DROP INDEX task_runnable; DROP INDEX review_decided; DROP INDEX review_expiring")
    connection.execute("CREATE INDEX task_waiting ON task (priority); DROP TABLE review_claim")
    connection.pragma("user_version", 1)
    connection.close()

    store = SqliteStore(path)
    lease = store.claim(owner="w", ttl_s=1)
    store.close()

    assert lease is not None
    assert lease.task_id == "t"
    assert indexes(path) == wanted
    assert apsw.Connection(str(path)).pragma("user_version") == queries.schema_version("sqlite")


def test_a_file_of_the_second_schema_keeps_its_question_which_can_be_claimed_then(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    before = SqliteStore(path)
    asked = waiting_review(before)
    before.close()
    connection = apsw.Connection(str(path))
    connection.execute("DROP TABLE review_claim")
    connection.pragma("user_version", 2)
    connection.close()

    store = SqliteStore(path)
    claim = store.claim_review(asked.review_id, by="ann", for_s=900)
    kept, claims = store.reviews(), store.claims()
    store.close()

    assert kept == [asked]
    assert claims == [claim]


@pytest.mark.postgres
def test_a_database_of_the_second_schema_keeps_its_question_which_can_be_claimed_then(
    postgres_url: str,
) -> None:
    import psycopg

    before = open_store(postgres_url)
    asked = waiting_review(before)
    before.close()
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("DROP TABLE tracekit.review_claim; UPDATE tracekit.store_version SET version = 2")
    store = open_store(postgres_url)
    claim = store.claim_review(asked.review_id, by="ann", for_s=900)
    kept, claims = store.reviews(), store.claims()
    store.close()

    assert kept == [asked]
    assert claims == [claim]


@pytest.mark.postgres
def test_a_database_of_the_first_schema(postgres_url: str) -> None:
    import psycopg

    first = queries.migrations("postgres")[0].sql
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA tracekit; SET search_path = tracekit; {first}".encode())
        connection.execute("INSERT INTO store_version (version) VALUES (1)")
    store = open_store(postgres_url)
    store.create(TASK, [PutBlob(digest(ARGUMENTS), ARGUMENTS)])
    lease = store.claim(owner="w", ttl_s=1)
    store.close()

    assert lease is not None
    with psycopg.connect(postgres_url) as connection:
        rows = connection.execute("SELECT indexname FROM pg_indexes WHERE schemaname = 'tracekit'").fetchall()
        version = connection.execute("SELECT version FROM tracekit.store_version").fetchall()
    names = {str(row[0]) for row in rows}
    assert {"task_runnable", "review_decided", "review_expiring"} <= names
    assert "task_waiting" not in names
    assert version == [(queries.schema_version("postgres"),)]
