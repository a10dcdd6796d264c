"""
New lines taken into an analysis: only the traces that they touch are folded, related and judged again, whole.

All lines of these traces are read again by their place, so that what comes out is what a fresh reading would give. What a
trace is compared with (`facts.py`, and the classes that look at all calls of a tool or at all ids of a kind) is the exception:
beside the traces that were touched only the latest others are looked at, and only the next whole reading judges by all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from tracekit_analyzers.engine import Engine, judged
from tracekit_analyzers.growing import part
from tracekit_analyzers.growing.growth import Grown, MustReadAll, Watch
from tracekit_analyzers.growing.part import NAME, Told
from tracekit_analyzers.growing.touched import Finding, News, news_of
from tracekit_analyzers.model import TraceVerdict
from tracekit_analyzers.reading import fold
from tracekit_analyzers.reading.damage import Damage
from tracekit_analyzers.reading.liveness import any_held
from tracekit_analyzers.relations import facts, relate, statement

PEER_STEPS = 500
"""Steps of other traces beside which those that were touched are judged."""

_PLACED = {"log.steps": ("first_n", "last_n"), "log.traces": ("first_n",), "log.trace_rows": ("first_n",)}
"""Relations with places in the reading order."""
_PLAIN = ("diagnoses", "messages", "call_pairs", "context_changes", "leaves", "origins")


@dataclass(frozen=True, slots=True)
class Taken:
    """What an increment came to."""

    verdicts: dict[str, TraceVerdict]
    """Those that are new."""
    compared_with_all: bool
    """They are what a fresh reading would say, whatever they rest on."""


def take(engine: Engine, watch: Watch, grown: Sequence[Grown], died: Collection[str], folder: Path) -> Taken:
    """
    Take the lines of *grown* into the relations and the damage report of *engine*.

    Args:
        died: Processes that lived when the log was read last, and do not any more.
        folder: Where the engine may read a file of ours.

    Raises:
        MustReadAll: Nothing was changed: only a whole reading tells for certain.
    """
    news = news_of(grown)
    asking = engine.con.cursor()
    try:
        finding = Finding(asking, watch, grown)
        touched = finding.traces(news, died)
        peers, all_others = finding.peers(touched, PEER_STEPS)
        with part.beside(engine.con) as con:
            made = _Made(con, asking, grown)
            wrong = made.judge(finding, touched | peers, news, died, folder)
            chosen = touched | peers if all_others else touched
            made.write(chosen, news)
        _tell_damage(engine.damage, grown, news.damage, wrong)
        verdicts = {name: verdict for name, verdict in made.verdicts.items() if name in chosen}
        return Taken(verdicts, all_others)
    except duckdb.Error as error:
        raise MustReadAll(f"the new lines could not be taken in: {error}") from error
    finally:
        asking.close()


class _Made:
    """The small analysis in *con*, on its way into the whole one that *asking* is connected to."""

    def __init__(
        self, con: duckdb.DuckDBPyConnection, asking: duckdb.DuckDBPyConnection, grown: Sequence[Grown]
    ) -> None:
        self._con, self._asking, self._grown = con, asking, grown
        row = asking.execute("select current_database()").fetchone()
        self._whole = f'"{row[0] if row else "memory"}"'
        self.verdicts: dict[str, TraceVerdict] = {}

    def judge(
        self, finding: Finding, traces: set[str], news: News, died: Collection[str], folder: Path
    ) -> Damage:
        """Fold, relate and judge *traces* from their lines; returns what values of a wrong type were found."""
        wrong = Damage()
        told = finding.lines(traces, news)
        part.fill(self._con, told, wrong, folder)
        self._place(told)
        self._processes(died)
        fold.steps_and_traces(self._con)
        facts.take_over(self._con, facts.learned(self._asking))
        self._con.execute(f"insert into log.lost select * from {self._whole}.log.lost")
        for digest, hashes in finding.elsewhere.items():
            self._con.execute("insert into log.contexts_elsewhere values (?, ?)", [digest, list(hashes)])
        self.verdicts = {verdict.trace_id: verdict for verdict in judged(self._con, folder, 1)}
        relate.store_verdicts(self._con, folder, self.verdicts.values())
        self._con.execute(statement("trace_rows"))
        return wrong

    def _place(self, told: Sequence[Told]) -> None:
        """Make `line_places`: where each line of the part stands in the reading order of the whole."""
        first = dict(self._asking.execute("select file, first_n from log.spans").fetchall())
        row = self._asking.execute("select coalesce(max(last_n), 0) + 1 from log.steps").fetchone()
        end = int(row[0]) if row else 0
        places = [first.get(one.file, end) + one.line - 1 for one in told]
        self._con.execute(
            "create table line_places as select unnest(?::bigint[]) as place, unnest(?::bigint[]) as n",
            [list(range(len(places))), places],
        )
        self._con.execute("create table new_spans (file varchar, first_n bigint)")
        for one in self._grown:
            if one.file.name not in first:
                self._con.execute("insert into new_spans values (?, ?)", [one.file.name, end])

    def _processes(self, died: Collection[str]) -> None:
        """Make `processes`: what was known and what the new lines say; those that may live are asked."""
        self._con.execute(statement("processes"))
        said = {row[0] for row in self._con.execute("select process_id from processes").fetchall()}
        self._con.execute(statement("processes_grown").replace("{whole}", self._whole))
        rows = self._con.execute(
            "select process_id, files, alive from processes where exited_at is null"
        ).fetchall()
        alive = [
            name
            for name, files, lived in rows
            if (lived or name in said) and name not in died and any_held(files)
        ]
        self._con.execute("update processes set alive = false")
        fold.mark_alive(self._con, alive)

    def write(self, chosen: Collection[str], news: News) -> None:
        """Put the rows of the *chosen* traces in the place of those that the whole analysis has, all or none."""
        con = self._con
        con.execute("create table chosen as select unnest(?::varchar[]) as trace_id", [sorted(chosen)])
        con.execute("begin")
        try:
            for name, columns in _PLACED.items():
                self._replace(f"{self._whole}.{name}", name, columns)
            tables = {row[0]: row[1] for row in con.execute("select table_name, schema_name from duckdb_tables() where database_name = ? order by schema_name = 'main'", [self._whole.strip('"')]).fetchall()}  # fmt: skip
            for name in _PLAIN:
                # With many buckets some are views, which need no row.
                if name in tables:
                    self._replace(f"{self._whole}.{tables[name]}.{name}", name, ())
            self._write_processes()
            self._write_places(news)
            con.execute("commit")
        except BaseException:
            con.execute("rollback")
            raise

    def _replace(self, target: str, source: str, placed: Iterable[str]) -> None:
        where = f"where trace_id in (select trace_id from {NAME}.chosen)"
        self._con.execute(f"delete from {target} {where}")
        numbers = ", ".join(
            f"(select n from {NAME}.line_places where place = {name}) as {name}" for name in placed
        )
        columns = f"* replace ({numbers})" if numbers else "*"
        self._con.execute(
            f"insert into {target} by name select {columns} from {NAME}.{_full(source)} {where}"
        )

    def _write_processes(self) -> None:
        whole = self._whole
        self._con.execute(f"delete from {whole}.processes")
        self._con.execute(f"insert into {whole}.processes select * from {NAME}.processes")
        self._con.execute(statement("ended_grown").replace("{whole}", whole))

    def _write_places(self, news: News) -> None:
        whole = self._whole
        for one in self._grown:
            self._con.execute(f"delete from {whole}.log.places where file = ? and line > ?", [one.file.name, one.lines_before])  # fmt: skip
        rows = [(_text(one, "trace_id"), _text(one, "hash") if one.kind == "message" else None, one.file, one.line)
                for one in news.told if one.kind in ("step", "message")]  # fmt: skip
        if rows:
            self._con.execute(
                f"insert into {whole}.log.places select unnest(?::varchar[]), unnest(?::varchar[]), unnest(?::varchar[]), "
                "unnest(?::bigint[])",
                [list(column) for column in zip(*rows, strict=True)],
            )
        self._con.execute(f"insert into {whole}.log.spans select * from {NAME}.new_spans")


def _full(name: str) -> str:
    return name if "." in name else f"main.{name}"


def _text(one: Told, name: str) -> str | None:
    said = one.value.get(name)
    return said if isinstance(said, str) else None


def _tell_damage(damage: Damage, grown: Sequence[Grown], new: Damage, wrong: Damage) -> None:
    """Put what is bad in the new lines into *damage*; of lines that were read before, all was told then."""
    before = {one.file.name: one.lines_before for one in grown}
    for file, line in before.items():
        damage.forget(file, after=line)
    damage.take(new)
    damage.take(wrong, only=lambda bad: bad.file in before and (bad.line or 0) > before[bad.file])
