"""Makes the native records of one run: ids, positions, contexts. Readers say what happened, this says it in our format."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import orjson

from tracekit.model import StepKind, StepStatus
from tracekit.recording.contexts import Contexts, hash_messages
from tracekit_analyzers.model import InputFile, NativeRecord
from tracekit_analyzers.readers._time import stamp


def hex_id(digits: int, *parts: object) -> str:
    """*digits* hexadecimal digits that are always the same for the same *parts*."""
    text = "\x1f".join(map(str, parts)).encode("utf-8", "surrogatepass")
    return blake2b(text, digest_size=digits // 2).hexdigest()


def json_text(value: Any) -> str:
    """*value* as compact JSON, for formats that hold arguments parsed where we keep text."""
    try:
        return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode()
    except (TypeError, ValueError):
        import json

        return json.dumps(value, ensure_ascii=True, default=str)


def parsed(text: Any) -> Any:
    """The value of a JSON text; None when it is not JSON, and anything that is no text as it is."""
    if not isinstance(text, str):
        return text
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None


def file_key(file: InputFile) -> str:
    """A name for *file* that does not depend on where it lies: its name, length and first bytes."""
    name = file.path.name.removesuffix(".gz").removesuffix(".zst")
    try:
        size = file.path.stat().st_size
    except OSError:
        size = -1
    return f"{name}:{size}:{_head_digest(file.head)}"


@lru_cache(maxsize=8)
def _head_digest(head: bytes) -> str:
    return blake2b(head, digest_size=16).hexdigest()


class Run:
    """One run of a file while it is translated."""

    def __init__(
        self,
        file: InputFile,
        trace_index: int = 0,
        *,
        trace_id: str | None = None,
        task_id: str | None = None,
    ) -> None:
        self.trace_id = trace_id or hex_id(32, file_key(file), trace_index)
        self.task_id = task_id
        self.trace_index = trace_index
        self._seq = 0
        self._hashes: set[str] = set()
        self._contexts = Contexts()

    def _source(self, index: int | None, line: int | None) -> dict[str, int | None]:
        return {"trace_index": self.trace_index, "line": line, "index": index}

    def step_id(self, *parts: object) -> str:
        """A step's id made from the run and *parts*, its position for instance."""
        return hex_id(16, self.trace_id, *parts)

    def message(
        self, message: Any, *, role: str, index: int | None, line: int | None = None, agent: str | None = None
    ) -> tuple[str, list[NativeRecord]]:
        """Hash of *message*, and its record the first time that this run has it."""
        (name,) = hash_messages((message,))
        if name in self._hashes:
            return name, []
        self._hashes.add(name)
        record: NativeRecord = {
            "record": "message",
            "trace_id": self.trace_id,
            "hash": name,
            "role": role,
            "message": message,
            "source": self._source(index, line),
        }
        if agent is not None:
            record["agent"] = agent
        return name, [record]

    def context(
        self, hashes: Sequence[str], *, complete: bool = True, tokens: int | None = None
    ) -> dict[str, Any]:
        """The `context` field of a model step that was sent *hashes*, told against the most alike of those before it."""
        ref = self._contexts.refer(self.trace_id, tuple(hashes), complete=complete)
        return {
            "digest": ref.digest,
            "count": ref.count,
            "base": ref.base,
            "keep": ref.keep,
            "hashes": list(ref.hashes),
            "complete": ref.complete,
            "tokens": tokens,
        }

    def step(
        self,
        kind: StepKind,
        name: str,
        *,
        status: StepStatus,
        index: int | None,
        step_id: str,
        line: int | None = None,
        started_ns: int | None = None,
        finished_ns: int | None = None,
        **fields: Any,
    ) -> NativeRecord:
        """One finished `step` record; fields that are None are left out."""
        self._seq += 1
        record: NativeRecord = {
            "record": "step",
            "trace_id": self.trace_id,
            "step_id": step_id,
            "seq": self._seq,
            "kind": str(kind),
            "name": name,
            "status": str(status),
            "source": self._source(index, line),
        }
        if self.task_id is not None:
            record["task_id"] = self.task_id
        for key, value in (("started_at", stamp(started_ns)), ("finished_at", stamp(finished_ns))):
            if value is not None:
                record[key] = value
        if started_ns is not None and finished_ns is not None:
            record["duration_ms"] = (finished_ns - started_ns) / 1_000_000
        if not fields.get("attributes"):
            fields.pop("attributes", None)
        record.update((key, value) for key, value in fields.items() if value is not None)
        return record
