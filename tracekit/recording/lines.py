"""The lines of the log as bytes; docs/log-format.md says what each field means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from tracekit import clock
from tracekit.model import LOG_SCHEMA
from tracekit.recording.identity import ProcessIdentity, versions
from tracekit.recording.values import Values


def dumps(line: Mapping[str, Any]) -> bytes:
    """One line of the log, newline included; values come as plain JSON or as fragments."""
    return orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)


def process_line(who: ProcessIdentity, event: str, service: str, **more: Any) -> bytes:
    """The first line of a file (*event* `start`) or the one at a clean exit (`exit`)."""
    return dumps(
        {
            "record": "process",
            "schema": LOG_SCHEMA,
            "event": event,
            "service": service,
            "host": who.host,
            "boot_id": who.boot_id,
            "pid": who.pid,
            "process_id": who.process_id,
            "started_at": clock.rfc3339(who.started_at),
            "at": clock.rfc3339(clock.now_ns()),
            "versions": versions(),
            **more,
        }
    )


def drops_line(count: int, reason: str) -> bytes:
    """Tells how many lines could not be written since the last one that could."""
    return dumps({"record": "drops", "count": count, "reason": reason, "at": clock.rfc3339(clock.now_ns())})


def message_line(message_hash: str, trace_id: str, role: str, message: Any, values: Values) -> dict[str, Any]:
    """One chat message, named by its hash."""
    return {
        "record": "message",
        "hash": message_hash,
        "trace_id": trace_id,
        "role": values.label(role),
        "message": values.fragment(message),
    }
