"""Where tasks live: `open_store(url)` gives a `Store`; contract.py says what every store promises."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, cast

from tracekit.errors import TracekitError

if TYPE_CHECKING:
    from tracekit.store.contract import Store
    from tracekit.store.sealed import Sealer

__all__ = ["open_store"]


def open_store(url: str | os.PathLike[str], *, sealer: Sealer | None = None, seal_all: bool = False) -> Store:
    """
    The store at *url*, created when it is not there.

    Args:
        url: `sqlite:PATH` or a plain path; `postgresql://USER@HOST/DATABASE`; `memory:NAME`, the same for all who
            name it in this process, or `memory:` alone for a fresh one.
        sealer: What encrypts bodies; `tracekit.sealing` when not given and something has to be sealed.
        seal_all: Encrypt all bodies, not only those that hold a secret.

    Raises:
        TracekitError: `store.unreachable`, `store.not_a_store`, `store.newer_schema`, `store.damaged`, `store.busy`.
    """
    from tracekit.store.sealed import Bodies

    bodies = Bodies(sealer, seal_all=seal_all)
    text = os.fspath(url)
    scheme, colon, rest = text.partition(":")
    if scheme in ("postgresql", "postgres") and rest.startswith("//"):
        return _open_postgres(text, bodies)
    if scheme == "memory" and colon:
        from tracekit.store.memory import open_memory

        return open_memory(rest)
    if scheme == "sqlite" and colon:
        text = rest.removeprefix("//") if rest.startswith("///") else rest
    if not text or "://" in text:
        raise TracekitError(
            "store.bad_url",
            f"expected sqlite:PATH, a path, postgresql://USER@HOST/DATABASE or memory:NAME, got {shown_url(text)!r}",
        )
    from tracekit.store.sqlite import SqliteStore

    return SqliteStore(text, bodies=bodies)


def shown_url(url: str) -> str:
    """*url* as it may be shown, whatever it was meant to be: without what stands where a password would."""
    return re.sub(r"(?i)(password=)[^&\s]*", r"\1***", re.sub(r"//.*@", "//***@", url, flags=re.DOTALL))


def _open_postgres(url: str, bodies: object) -> Store:
    from tracekit.store.sealed import Bodies

    try:
        from tracekit.store.postgres import PostgresStore
    except ImportError as error:
        raise TracekitError(
            "store.no_driver",
            f"expected the PostgreSQL driver ({error}): pip install 'tracekit-agents[postgres]'",
        ) from error
    return PostgresStore(url, bodies=cast(Bodies, bodies))
