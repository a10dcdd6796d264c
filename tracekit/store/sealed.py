"""
Bodies on their way to and from the disk: packed; sealed when they hold a secret, or all when the user wants that.

The store knows no cryptography: it is given a `Sealer`, and where none is given it takes `tracekit.sealing`, whose
key lies outside the store. A body that has to be sealed and can't be is refused, never written plain.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from contextlib import suppress
from importlib import import_module
from typing import Any, Protocol, cast

import orjson

from tracekit.errors import TracekitError
from tracekit.redaction import find_secrets
from tracekit.snapshot import digest

PLAIN = "plain"
PACKED = "zlib"
SEALED = "sealed"

PACK_FROM_BYTES = 256
PACK_LEVEL = 1
"""
Fifteen microseconds for 2 KB, against milliseconds for the disk. A reply names its text several times over, and two rows
of 2 KB do not share a page of 4: without packing a conversation takes ten times its bytes.
"""

_SHORTEST_SECRET = 8
"""Characters; `{}` and the like are most of what is written."""

_MARK = "$sealed:"
_ESCAPE = "$plain:"


class Sealer(Protocol):
    """Encrypts and decrypts; `unseal` raises when the key is another or the data was changed."""

    def seal(self, data: bytes, /) -> bytes:
        """*data* encrypted and authenticated."""

    def unseal(self, data: bytes, /) -> bytes:
        """What was given to `seal`."""


class Bodies:
    """Writes and reads bodies; *seal_all* seals every text and blob, else only those marked as secret."""

    def __init__(self, sealer: Sealer | None = None, *, seal_all: bool = False) -> None:
        self._sealer = sealer
        self._seal_all = seal_all

    def write_blob(self, data: bytes, *, secret: bool) -> tuple[str, bytes]:
        """Codec and stored form of *data*."""
        if secret or self._seal_all:
            return SEALED, self._sealer_or_default().seal(data)
        packed = zlib.compress(data, PACK_LEVEL) if len(data) >= PACK_FROM_BYTES else data
        return (PACKED, packed) if len(packed) < len(data) else (PLAIN, data)

    def read_blob(self, codec: str, stored: bytes, *, hash: str) -> bytes:
        """The body named *hash*; `store.damaged` when what is there is not what was put."""
        try:
            data = self._decode(codec, stored)
        except (ValueError, zlib.error) as error:
            raise _blob_damaged(hash, str(error)) from error
        if digest(data) != hash:
            raise _blob_damaged(hash, "its content has another hash")
        return data

    def _decode(self, codec: str, stored: bytes) -> bytes:
        if codec == SEALED:
            return self._open(stored)
        if codec == PACKED:
            return zlib.decompress(stored)
        if codec != PLAIN:
            raise ValueError(f"its codec {codec!r} is none that this tracekit knows")
        return stored

    def write_text(self, text: str) -> str:
        """Stored form of a text column: sealed, too, where a secret rule matches it."""
        if self._seal_all or _holds_secret(text):
            return _MARK + base64.b64encode(self._sealer_or_default().seal(text.encode())).decode()
        return _ESCAPE + text if text.startswith((_MARK, _ESCAPE)) else text

    def read_text(self, stored: str) -> str:
        """The text behind its stored form."""
        if stored.startswith(_ESCAPE):
            return stored.removeprefix(_ESCAPE)
        if not stored.startswith(_MARK):
            return stored
        try:
            sealed = base64.b64decode(stored.removeprefix(_MARK), validate=True)
        except binascii.Error as error:
            raise ValueError(f"its sealed text is broken: {error}") from error
        return self._open(sealed).decode()

    def _open(self, sealed: bytes) -> bytes:
        sealer = self._sealer_or_default()
        try:
            return sealer.unseal(sealed)
        except TracekitError:
            raise
        except Exception as error:  # each library has its own class for a wrong key
            raise TracekitError(
                "store.sealed",
                "expected the key that this body was sealed with, but the one in use does not open it "
                f"({type(error).__name__}); give the key that was in use when it was written",
            ) from error

    def _sealer_or_default(self) -> Sealer:
        if self._sealer is None:
            self._sealer = _default_sealer()
        return self._sealer


def _holds_secret(text: str) -> bool:
    """Whether *text*, read as JSON where it is JSON, since some rules look at the names of fields."""
    if len(text) < _SHORTEST_SECRET:
        return False
    value: Any = text
    if text[0] in "{[":
        with suppress(orjson.JSONDecodeError):
            value = orjson.loads(text)
    return bool(find_secrets(value))


def _default_sealer() -> Sealer:
    try:
        return cast(Sealer, import_module("tracekit.sealing"))
    except ImportError as error:
        raise TracekitError(
            "store.no_sealer",
            "a body that holds a secret has to be encrypted, but the library for it is missing; "
            "pip install 'tracekit-agents[crypto]'",
        ) from error


def _blob_damaged(hash: str, why: str) -> TracekitError:
    return TracekitError(
        "store.damaged",
        f"expected an intact body {hash}, but {why}; nothing of it was loaded. "
        "Copy the store away, then restore it from a backup",
    )
