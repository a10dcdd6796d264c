"""
The lines of native logs with only the fields that a query names: `narrow_lines`, and over it the view `steps`.

A tenth of the whole reading, in time and memory. Damage is counted as the whole reading counts it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import duckdb

from tracekit_analyzers.model import InputFile
from tracekit_analyzers.reading.damage import Damage
from tracekit_analyzers.reading.ingest import line_limit
from tracekit_analyzers.reading.piecewise import Block, Piecewise
from tracekit_analyzers.reading.scanning import holds_no_json_numbers
from tracekit_analyzers.relations import statement

_TIMES = ("began", "ended_at", "took_ms")
_FIELDS = (
    "parent_step_id", "task_id", "attempt", "kind", "name", "agent", "tool_name", "call_id", "status", "input", "output", "raw",
    "model", "finish_reason", "context", "asked", "depends_on", "effect", "checkpoint", "tries", "reinfers", "error_type",
    "error_message", "error_stack", "usage", "tokens", "process_id", "pid", "attributes", "file", "source",
)  # fmt: skip
"""All that the last select of `steps.sql` takes from a folded step."""
_JSON = frozenset(("input", "output", "context", "asked", "depends_on", "effect", "usage", "tokens", "attributes", "source"))  # fmt: skip
_SAID = {"input": "input_snapshot", "output": "output_snapshot", "raw": "model_raw_output"}
"""Fields that a log calls otherwise than the relation does."""
_READ_ANYWAY = frozenset(("attempt", "tries", "reinfers"))
_OF_COLUMN = {
    "trace_id": (), "step_id": (), "output_text": ("output",), "cost": ("usage",),
    "kind": ("kind", "tool_name", "has_raw", "has_asked"), "name": ("name", "tool_name", "model", "kind"),
    "tool_name": ("tool_name", "kind", "name"), "status": ("status", "error_type", "has_output", *_TIMES),
    **dict.fromkeys(("input_tokens", "output_tokens"), ("usage", "tokens")),
    **dict.fromkeys(("started_at", "finished_at", "duration_ms"), _TIMES),
    **dict.fromkeys(("context_digest", "context_base", "context_keep", "context_count", "context_complete", "context_tokens",
                     "context_hashes"), ("context",)),
    **dict.fromkeys(("effect_risk", "effect_key", "effect_status", "effect_idempotent"), ("effect",)),
}  # fmt: skip
"""What of a line a column of `steps` is made of, where it is not the field of the same name; `has_` where only its presence counts."""


COLUMNS = frozenset((*_OF_COLUMN, *_FIELDS)) - {"context", "effect", "usage", "tokens", "source"}
"""Columns of `steps` that can be had this way."""


@dataclass(frozen=True, slots=True)
class Narrow:
    """`narrow_lines` of one connection, for those columns of `steps` that were named."""

    con: duckdb.DuckDBPyConnection
    columns: Collection[str]
    folder: Path
    damage: Damage

    def read(self, files: Sequence[InputFile], *, shown_as: str | None = None) -> bool:
        """
        Fill the table with the lines of *files*; False where only the whole reading gives what was asked.

        Args:
            files: Native logs, not packed.
            shown_as: What the column `file` says, where that is not the name of the file.

        Raises:
            duckdb.Error: The engine can't go on; a full disk.
        """
        self._create()
        with ThreadPoolExecutor(1) as pool:
            looking = pool.submit(lambda: {file.path for file in files if holds_no_json_numbers(file.path)})
            same = shown_as is None and all(str(file.path) == file.name for file in files)
            clean = same and self._took([str(file.path) for file in files], None)
            odd = looking.result()
        if odd or not clean:
            self._create()
            for file in files:
                self._read_one(file, shown_as or file.name, odd=file.path in odd)
        damaged, wrong_types, nameless = self.con.execute(statement("narrow_damage")).fetchall()[0]
        self.damage.bad_count += damaged
        # Steps get their ids, and values of a wrong type their place among the attributes, in the whole reading.
        return not nameless and not (wrong_types and "attributes" in self.columns)

    def show(self, name: str = "steps") -> None:
        """Make the view *name*: the relation `steps`, of which the named columns hold."""
        sql = statement("narrow_folded")
        for word, form in (
            ("once", "l.{0}"),
            ("twice", "coalesce(l.{0}, f.{0})"),
            ("often", "arg_max({0}, n)"),
        ):
            sql = sql.replace("{" + word + "}", ", ".join(self._folded(field, form) for field in _FIELDS))
        self.con.execute(sql)
        self.con.execute(f"create or replace view {name} as {_last_select()}")

    def _folded(self, field: str, form: str) -> str:
        if field not in self._fields():
            return f"cast(null as {_type(field)}) as {field}"
        if field == "attributes" and form != "l.{0}":
            form = "laid_over(f.{0}, l.{0})" if "f." in form else "laid_in_order({0}, n)"
        return f"{form.format(field)} as {field}"

    def _fields(self) -> dict[str, bool]:
        """The fields that the columns are made of, and of each whether only its presence counts."""
        parts = {part for column in self.columns for part in _OF_COLUMN.get(column, (column,))}
        return {name: name not in parts for name in _FIELDS if name in parts or f"has_{name}" in parts}

    def _create(self) -> None:
        fields = ", ".join(f"{field} {_type(field)}" for field in self._fields())
        self.con.execute(statement("narrow_table").replace("{fields}", fields))

    def _took(self, paths: list[str], shown: str | None, **limits: int) -> bool:
        """Whether the engine read all *paths*; if not, nothing of them was kept."""
        try:
            self._insert(paths, shown, **limits)
        except duckdb.Error:
            return False
        return True

    def _insert(self, paths: list[str], shown: str | None, **limits: int) -> None:
        fields = self._fields()
        timed = any(name in _OF_COLUMN.get(column, ()) for column in self.columns for name in _TIMES)
        named = "filename" if shown is None else _quoted(shown)
        sql = statement("narrow_lines")
        for word, parts in (
            ("{times}", [name if timed else "null" for name in _TIMES]),
            ("{fields}", [_expression(field, present, named) for field, present in fields.items()]),
            ("{columns}", [f"{_SAID.get(field, field)}: '{_type(field)}'" for field in {**fields, "source": False}
                           if field != "file" and field not in _READ_ANYWAY]),
        ):  # fmt: skip
            sql = sql.replace(word, ", ".join(parts))
        self.con.execute(sql, {"files": paths, "line_limit": line_limit(**limits)})

    def _read_one(self, file: InputFile, shown: str, *, odd: bool) -> None:
        if not odd and self._took([str(file.path)], shown):
            return
        records: list[bytes] = []

        def hand_over() -> None:
            if records:
                path = self.folder / "kept.jsonl"
                path.write_bytes(b"\n".join(records))
                self._insert([str(path)], shown, longest=max(map(len, records)))
                records.clear()

        def take(block: Block) -> bool:
            hand_over()
            return self._took([str(block.path)], shown, longest=block.longest, usual=1 << 20)

        Piecewise(file, self.folder, self.damage, take, lambda _, record: records.append(record)).read()
        hand_over()


def _last_select() -> str:
    """The columns of a step are those of the whole reading: the last select of its statement."""
    select = statement("steps").rpartition("\n)\n")[2].replace("$bucket", "0")
    return select.replace(" left join log.files using (file)", "").replace("files.first_n", "null")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _type(field: str) -> str:
    return "json" if field in _JSON else "varchar"


def _expression(field: str, present: bool, named: str) -> str:
    said = _SAID.get(field, field)
    if field == "file":
        return f"coalesce(source ->> '$.file', {named})"
    if present:
        return f"case when {said} <> 'null' then json('0') end" if field in _JSON else f"left({said}, 0)"
    return f"nothing_as_null({said})" if field in _JSON else said
