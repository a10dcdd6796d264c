"""What a receiver says, in the type of the request: success, partial success, or a status with a message."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import orjson

JSON = "application/json"
PROTOBUF = "application/x-protobuf"

RETRY_AFTER_S = 10
"""How long a client is told to wait when the disk is full or the receiver busy."""

_GRPC_CODES = {400: 3, 401: 16, 403: 7, 404: 5, 405: 12, 413: 8, 415: 3, 500: 13, 503: 14}


@dataclass(frozen=True, slots=True)
class Reply:
    """One HTTP answer."""

    status: int
    content_type: str
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


def accepted(content_type: str, *, rejected: int = 0, why: str = "", noun: str = "Spans") -> Reply:
    """200: all, or all but *rejected*, are in the log; the client must not send them again."""
    if content_type != PROTOBUF:
        partial = {f"rejected{noun}": str(rejected), "errorMessage": why}
        return Reply(200, JSON, orjson.dumps({"partialSuccess": partial} if rejected or why else {}))
    if not rejected and not why:
        return Reply(200, PROTOBUF, b"")
    return Reply(200, PROTOBUF, _text(1, _number(1, rejected) + _text(2, why.encode())))


def refused(content_type: str, status: int, message: str) -> Reply:
    """An error with a `google.rpc.Status`; 503 says when to come again, all else must not be sent again as it is."""
    headers = {503: {"Retry-After": str(RETRY_AFTER_S)}, 401: {"WWW-Authenticate": "Bearer"}}.get(status, {})
    code = _GRPC_CODES.get(status, 2)
    if content_type != PROTOBUF:
        return Reply(status, JSON, orjson.dumps({"code": code, "message": message}), headers)
    return Reply(status, PROTOBUF, _number(1, code) + _text(2, message.encode()), headers)


def _number(field_number: int, value: int) -> bytes:
    """A protobuf field of type varint: these two messages need no library."""
    return _varint(field_number << 3) + _varint(value)


def _text(field_number: int, value: bytes) -> bytes:
    return _varint(field_number << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)
