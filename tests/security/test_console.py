"""Free queries read the relations, and nothing they hold or do reaches further."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import duckdb
import orjson
import pytest

from tracekit.errors import TracekitError
from tracekit_analyzers.asking import console
from tracekit_analyzers.reading import database
from tracekit_analyzers.session import Session
from tracekit_analyzers.shortcuts import quick

LINE = {
    "record": "step",
    "trace_id": "a" * 32,
    "step_id": "b" * 16,
    "kind": "tool",
    "name": "t",
    "status": "ok",
}
CHANGING = (
    "delete from log.steps",
    "explain analyze delete from log.steps",
    "explain (analyze) delete from log.steps",
    "explain analyze create table kept as select 1",
    "explain analyze create temp table kept as select 1",
    "with gone as (delete from log.steps returning *) select count(*) from gone",
    "explain analyze set threads = 7",
    "explain analyze set memory_limit = '9TB'",
    "explain analyze set profiling_output = 'profile.json'",
    "explain analyze commit",
    "explain analyze set enable_external_access = true",
    "pragma enable_profiling",
    "pragma threads = 7",
    "pragma import_database('.')",
    "prepare again as delete from log.steps",
    "call enable_logging()",
    "attach ':memory:' as other",
    "attach 'other.db' as other",
    "detach log_index",
    "use log",
    "install httpfs",
    "load httpfs",
    "create secret (type s3)",
    "export database 'out'",
    "copy (select 1) to 'out.csv'",
    "explain analyze copy (select 1) to 'out.csv'",
    "select 1; drop table log.steps",
    "begin; drop table log.steps; commit",
    "",
)
LOOKING_ROUND = (
    "select * from read_text('secret.txt')",
    "select * from read_blob('secret.txt')",
    "select * from read_csv('secret.txt')",
    "select * from read_json('secret.txt')",
    "select * from 'secret.txt'",
    "select * from glob('*')",
    "select * from sniff_csv('secret.txt')",
    "select * from query('select * from read_text(''secret.txt'')')",
    "select getenv('HOME')",
    "select * from duckdb_secrets()",
    "select * from which_secret('s3://bucket', 's3')",
)  # fmt: skip


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("console")
    (folder / "secret.txt").write_text("the secret\n")
    path = folder / "log.jsonl"
    path.write_bytes(orjson.dumps(LINE) + b"\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield path


@pytest.fixture(scope="module")
def session(log: Path) -> Iterator[Session]:
    made = Session([log], diagnose=False)
    made.load()
    yield made
    made.close()


@pytest.mark.parametrize("query", CHANGING)
def test_what_changes_anything_is_refused_and_changes_nothing(
    session: Session, log: Path, query: str
) -> None:
    def state() -> tuple[object, ...]:
        asked = (
            "from log.steps",
            "select * from duckdb_tables() order by all",
            "select * from duckdb_settings()",
        )
        return tuple(session.engine.con.cursor().execute(sql).fetchall() for sql in asked)

    before = state()
    with pytest.raises(TracekitError, match=r".") as told:
        session.sql(query)

    assert told.value.code.startswith("sql.")
    assert state() == before
    assert sorted(path.name for path in log.parent.iterdir()) == ["log.jsonl", "secret.txt"]
    assert session.sql("select count(*) from steps").rows == ((1,),)


@pytest.mark.parametrize("query", LOOKING_ROUND)
def test_nothing_outside_the_relations_can_be_read(session: Session, query: str) -> None:
    with pytest.raises(TracekitError) as told:
        session.sql(query)
    assert "the secret" not in str(told.value)


@pytest.mark.parametrize("query", [*CHANGING, *LOOKING_ROUND])
def test_the_short_way_is_no_way_round(log: Path, query: str) -> None:
    table = None
    with contextlib.suppress(TracekitError):
        table = quick.answer([str(log)], query.replace("log.steps", "steps"), reader=None, limit=5)
    assert table is None, "refused, or left to the long way, which refuses it"
    assert sorted(path.name for path in log.parent.iterdir()) == ["log.jsonl", "secret.txt"]


def test_the_short_way_reads_the_named_files_and_no_others(log: Path) -> None:
    with duckdb.connect() as con:
        console.close_doors(con, [str(log)])
        assert con.execute("select count(*) from read_text(?)", [str(log)]).fetchall() == [(1,)]
        with pytest.raises(duckdb.PermissionException):
            con.execute("select * from read_text('secret.txt')")
        with pytest.raises(duckdb.Error, match="locked"):
            con.execute("set allowed_paths = ['secret.txt']")


def test_a_query_that_wants_all_memory_is_ended_by_its_limit(tmp_path: Path) -> None:
    with database.connect(tmp_path, 0, memory_mb=64) as con:
        console.close_doors(con)
        with pytest.raises(TracekitError, match="Out of Memory") as told:
            console.run(con, "select list(range) from range(1000000000)", limit=1)
        assert told.value.code == "sql.failed"
        assert console.run(con, "select 1", limit=1).rows == ((1,),)


@pytest.mark.parametrize("query", ["explain select 1", "explain analyze select * from steps", "pragma table_info('steps')",
                                   "/* one */ explain (format json) select 1", "from steps", "values (1)", "summarize log.steps",
                                   "with recursive n(i) as (select 1 union all select i + 1 from n where i < 9) from n"])  # fmt: skip
def test_what_only_reads_is_answered(session: Session, query: str) -> None:
    assert session.sql(query).rows
