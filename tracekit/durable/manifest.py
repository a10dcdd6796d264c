"""
The messages of a model call in the store: each message once, and a list that names an earlier list and what is new.

A list that repeated its hashes would make the store grow with the square of the conversation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tracekit.durable.bodies import blob
from tracekit.durable.message_names import NamedMessage
from tracekit.durable.session import Session
from tracekit.snapshot import decode
from tracekit.store.contract import PutBlob


def manifest_writes(session: Session, bodies: Sequence[NamedMessage]) -> tuple[str, list[PutBlob]]:
    """Hash of the list that names the messages, and the bodies that are new to the store."""
    hashes = tuple(body.blob_hash for body in bodies)
    base, before = session.last_context or (None, ())
    keep = _common(before, hashes)
    listed = {"base": base if keep else None, "keep": keep, "hashes": list(hashes[keep:])}
    refs = (*((base,) if keep and base else ()), *hashes[keep:])
    manifest = blob(listed, refs=refs)
    fresh = [each.body for each in bodies if each.body is not None and each.blob_hash not in session.bodies]
    session.names.handed_over(hashes)
    session.last_context = (manifest.hash, hashes)
    return manifest.hash, [*fresh, manifest]


def _common(before: tuple[str, ...], now: tuple[str, ...]) -> int:
    """How many leading hashes are the same."""
    for number, (old, new) in enumerate(zip(before, now, strict=False)):
        if old != new:
            return number
    return min(len(before), len(now))


def message_hashes(manifest: str, bodies: dict[str, bytes]) -> list[str]:
    """Hashes of all messages of the list *manifest*, in order; follows the lists that it names."""
    chain: list[dict[str, Any]] = []
    name: str | None = manifest
    while name is not None:
        listed = decode(bodies[name])
        chain.append(listed)
        name = listed["base"]
    hashes: list[str] = []
    for listed in reversed(chain):
        hashes = [*hashes[: listed["keep"]], *listed["hashes"]]
    return hashes
