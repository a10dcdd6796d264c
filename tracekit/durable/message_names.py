"""Names of messages, found again fast: a conversation is named anew at every step."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import orjson

from tracekit.durable.bodies import blob
from tracekit.snapshot import message_hash
from tracekit.store.contract import PutBlob


@dataclass(frozen=True, slots=True)
class NamedMessage:
    """The two names of a message: by its meaning, for digests, and by its bytes, for the store."""

    message_hash: str
    blob_hash: str
    body: PutBlob | None
    """The body, until it was handed over to be stored."""


class MessageNames:
    """
    Names of the messages that an attempt has sent.

    Naming a message costs some 20 us, and a conversation of 1,000 is named anew at every step; the messages of the
    last step are found again by a fast digest of their plain JSON. Holds names; texts only from the naming to the commit.
    """

    def __init__(self) -> None:
        self._known: dict[bytes, tuple[str, str]] = {}
        self._to_store: dict[str, PutBlob] = {}

    def name(self, message: dict[str, Any]) -> NamedMessage:
        """The names of *message*; raises `NotStorable` when it is not plain data."""
        key = _quick_key(message)
        known = self._known.get(key) if key is not None else None
        if known is not None:
            return NamedMessage(*known, self._to_store.get(known[1]))
        body = blob(message)
        named = NamedMessage(message_hash(message), body.hash, body)
        if key is not None:
            self._known[key] = (named.message_hash, named.blob_hash)
            self._to_store[body.hash] = body
        return named

    def handed_over(self, blob_hashes: Iterable[str]) -> None:
        """Forget the texts of these: they are in the writes of the next commit, or in the store already."""
        if self._to_store:
            for each in blob_hashes:
                self._to_store.pop(each, None)


def _quick_key(message: dict[str, Any]) -> bytes | None:
    try:
        return hashlib.blake2b(orjson.dumps(message), digest_size=16).digest()
    except TypeError:
        return None  # not plain JSON: named the slow way each time
