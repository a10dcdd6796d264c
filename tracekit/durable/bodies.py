"""Values as bodies of the store."""

from __future__ import annotations

from typing import Any

from tracekit.errors import NotStorable
from tracekit.snapshot import digest, encode
from tracekit.store.contract import PutBlob


def blob(value: Any, *, refs: tuple[str, ...] = ()) -> PutBlob:
    """*value* as a body to store; raises `NotStorable` with the path of what is not plain data."""
    data = encode(value)
    return PutBlob(digest(data), data, secret=_holds_secret(value), refs=refs)


def stored(value: Any) -> tuple[PutBlob | None, NotStorable | None]:
    """*value* as a body, or why it can't be one: an outcome is recorded even if its result can't."""
    try:
        return blob(value), None
    except NotStorable as error:
        return None, error


def _holds_secret(value: Any) -> bool:
    try:
        from tracekit.redaction import find_secrets
    except ImportError:
        return False
    return bool(find_secrets(value))
