"""Names of messages, found again fast: a conversation is named anew at every step."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
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

    Naming a message costs some 20 us, and a conversation of 1,000 is named anew at every step. So the head that a
    conversation shares with the last one is recognised by one digest of its plain JSON, and single messages by theirs.
    Holds names; texts only from the naming to the commit.
    """

    def __init__(self) -> None:
        self._known: dict[bytes, tuple[str, str]] = {}
        self._to_store: dict[str, PutBlob] = {}
        self._last: _Conversation | None = None

    def name_all(self, messages: Sequence[dict[str, Any]]) -> tuple[NamedMessage, ...]:
        """The names of a conversation, in order; raises `NotStorable` when a message is not plain data."""
        try:
            text = orjson.dumps(messages, option=_PLAIN)
        except TypeError:
            return tuple(self.name(each) for each in messages)
        head = self._last.names if self._last is not None and self._last.begins(text) else ()
        names = (*head, *(self.name(each) for each in messages[len(head) :]))
        self._last = _Conversation(names, len(text) - 1, _digest(memoryview(text)[:-1]))
        return names

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


@dataclass(frozen=True, slots=True)
class _Conversation:
    """The conversation that was named last."""

    names: tuple[NamedMessage, ...]
    size: int
    """Bytes of its JSON without the closing bracket."""
    digest: bytes

    def begins(self, text: bytes) -> bool:
        """Whether the messages of *text* begin with these."""
        ends_a_message = len(text) > self.size and text[self.size] in b",]"
        return bool(self.names) and ends_a_message and _digest(memoryview(text)[: self.size]) == self.digest


_PLAIN = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_SUBCLASS
"""What is not plain JSON is named the slow way: it must not be taken for the text that it looks like."""


def _digest(data: bytes | memoryview) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


def _quick_key(message: dict[str, Any]) -> bytes | None:
    try:
        return _digest(orjson.dumps(message, option=_PLAIN))
    except TypeError:
        return None  # not plain JSON: named the slow way each time
