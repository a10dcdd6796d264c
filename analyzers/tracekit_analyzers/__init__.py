"""
Read any agent log, say which step failed and why.

`analyze(paths)` gives `Findings`: what the command `tracekit analyze` tells, as Polars frames.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tracekit_analyzers.findings import Findings, analyze

__all__ = ["Findings", "analyze"]


def __getattr__(name: str) -> Any:
    # Whoever only needs a reader or a word of the model does not wait for Polars.
    if name in __all__:
        from tracekit_analyzers import findings

        return getattr(findings, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
