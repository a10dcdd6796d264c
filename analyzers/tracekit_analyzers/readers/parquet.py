"""Parquet as `tracekit convert IN OUT.parquet` writes it: one row for each step. It holds no messages."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import duckdb
import orjson

from tracekit.clock import rfc3339
from tracekit_analyzers.model import DamageReport, InputFile, NativeRecord
from tracekit_analyzers.readers._source import never_silent

_MAGIC = b"PAR1"
_BATCH_ROWS = 2_000
_SAME = (
    "trace_id", "step_id", "parent_step_id", "task_id", "attempt", "kind", "name", "agent", "tool_name", "call_id", "status",
    "model", "finish_reason", "depends_on", "checkpoint", "tries", "reinfers", "error_type", "error_message", "error_stack",
    "duration_ms", "process_id", "pid",
)  # fmt: skip
_RENAMED = {"model_raw_output": "raw"}
_JSON = {"input_snapshot": "input", "output_snapshot": "output", "asked": "asked", "attributes": "attributes"}
_GROUPS = {
    "context": {
        "digest": "context_digest", "base": "context_base", "keep": "context_keep", "count": "context_count",
        "complete": "context_complete", "tokens": "context_tokens", "hashes": "context_hashes",
    },
    "effect": {
        "risk": "effect_risk", "key": "effect_key", "status": "effect_status", "idempotent": "effect_idempotent",
    },
    "usage": {"input_tokens": "input_tokens", "output_tokens": "output_tokens", "cost": "cost"},
    "source": {"trace_index": "trace_index", "line": "line", "index": "record_index"},
}  # fmt: skip


class ParquetReader:
    """Reads the steps of a Parquet file in the order of its rows."""

    name = "parquet"
    title = "tracekit steps in Parquet"

    def sniff(self, file: InputFile) -> int:
        """95 when the file is Parquet."""
        return 95 if file.head.startswith(_MAGIC) else 0

    @never_silent
    def read(self, file: InputFile, damage: DamageReport) -> Iterator[NativeRecord]:
        """One `step` record for each row; `source` is that of the log from which the file was made."""
        try:
            with duckdb.connect(config={"autoload_known_extensions": "false"}) as con:
                found = con.execute("select * from read_parquet(?)", [str(file.path)])
                names = [column[0] for column in found.description or ()]
                while rows := found.fetchmany(_BATCH_ROWS):
                    damage.counted(len(rows))
                    yield from (_record(dict(zip(names, row, strict=True))) for row in rows)
        except duckdb.Error as error:
            damage.bad(
                file=file.name, line=None, offset=None, reason=f"parquet: {error}", data=file.head[:80]
            )


def _record(row: dict[str, Any]) -> NativeRecord:
    record: NativeRecord = {"record": "step"}
    record |= {name: row.get(name) for name in _SAME}
    record |= {name: row.get(column) for name, column in _RENAMED.items()}
    record |= {name: _parsed(row.get(column)) for name, column in _JSON.items()}
    record |= {name: _time(row.get(name)) for name in ("started_at", "finished_at")}
    for name, columns in _GROUPS.items():
        group = {key: row.get(column) for key, column in columns.items()}
        record[name] = group if any(value is not None for value in group.values()) else None
    return {name: value for name, value in record.items() if value is not None}


def _parsed(text: Any) -> Any:
    return orjson.loads(text) if isinstance(text, str) else None


def _time(moment: Any) -> str | None:
    if not isinstance(moment, datetime):
        return None
    whole = moment.replace(tzinfo=UTC, microsecond=0)
    return rfc3339(int(whole.timestamp()) * 1_000_000_000 + moment.microsecond * 1000)


READER = ParquetReader()
