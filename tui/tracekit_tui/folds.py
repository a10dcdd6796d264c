"""Which rows of a tree are hidden: intervals of its depth-first order, so that no row need be loaded to hide it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from typing import Any

from tracekit_analyzers.views import Page, StepLine

SCAN_ROWS = 500


class Folds:
    """Folded steps and the intervals that they hide; positions are those of the unfolded tree."""

    def __init__(self) -> None:
        self.ids: set[str] = set()
        self._spans: dict[str, tuple[int, int]] = {}
        self._hidden: list[tuple[int, int]] = []
        self._before: list[int] = []

    def fold(self, step_id: str, first: int, end: int) -> None:
        """Hide the rows from *first* up to *end*, which hang below *step_id*."""
        self._hold(step_id, first, end)
        self._merge()

    def unfold(self, step_id: str) -> None:
        """Show again what hangs below *step_id*; folds inside it stay."""
        self.ids.discard(step_id)
        self._spans.pop(step_id, None)
        self._merge()

    def clear(self) -> None:
        """Show everything."""
        self.ids.clear()
        self._spans.clear()
        self._merge()

    def in_grown(self, fetch: Callable[[int, int], Page[StepLine]]) -> Folds:
        """The same folds in the tree as it is now: rows that came stand before, inside and after what they hide."""
        found = Folds()
        open_folds: list[tuple[str, int, int]] = []
        at = 0
        while rows := fetch(at, SCAN_ROWS).rows:
            for position, row in enumerate(rows, at):
                while open_folds and row.depth <= open_folds[-1][2]:
                    step_id, first, _ = open_folds.pop()
                    found._hold(step_id, first, position)
                if row.step_id in self.ids:
                    open_folds.append((row.step_id, position + 1, row.depth))
            at += len(rows)
        for step_id, first, _ in open_folds:
            found._hold(step_id, first, at)
        found._merge()
        return found

    def _hold(self, step_id: str, first: int, end: int) -> None:
        self.ids.add(step_id)
        self._spans[step_id] = (first, end)

    def _merge(self) -> None:
        merged: list[tuple[int, int]] = []
        for first, end in sorted(self._spans.values()):
            if merged and first < merged[-1][1]:
                # Trees nest: the later one lies wholly inside the earlier.
                continue
            merged.append((first, end))
        self._hidden = merged
        self._before, hidden = [], 0
        for first, end in merged:
            self._before.append(first - hidden)
            hidden += end - first

    @property
    def hidden(self) -> int:
        """Number of rows that are hidden."""
        return sum(end - first for first, end in self._hidden)

    def source(self, shown: int) -> int:
        """Position in the unfolded tree of the row shown at *shown*."""
        at = bisect_right(self._before, shown)
        return shown + sum(end - first for first, end in self._hidden[:at])

    def shown(self, source: int) -> int:
        """Where the row at *source* is shown; a hidden one stands at the row that hides it."""
        hidden = 0
        for first, end in self._hidden:
            if source < first:
                break
            if source < end:
                return first - hidden - 1
            hidden += end - first
        return source - hidden

    def page(self, fetch: Callable[[int, int], Page[Any]], offset: int, limit: int) -> Page[Any]:
        """A page of the folded tree, made of as few pages of the unfolded one as there are gaps in it."""
        rows: list[Any] = []
        shown, total, unfiltered = offset, None, 0
        while len(rows) < limit:
            source = self.source(shown)
            gap = next((first for first, _ in self._hidden if first > source), None)
            want = limit - len(rows) if gap is None else min(limit - len(rows), gap - source)
            answer = fetch(source, want)
            total, unfiltered = answer.total, answer.unfiltered
            rows += answer.rows
            shown += len(answer.rows)
            if len(answer.rows) < want:
                break
        whole = fetch(0, 1).total if total is None else total
        return Page(tuple(rows), offset, max(0, whole - self.hidden), max(whole, unfiltered))


def subtree_end(fetch: Callable[[int, int], Page[StepLine]], position: int, depth: int) -> int:
    """Position after the last row below the row at *position*, which has *depth*."""
    at = position + 1
    while True:
        rows = fetch(at, SCAN_ROWS).rows
        for number, row in enumerate(rows):
            if row.depth <= depth:
                return at + number
        at += len(rows)
        if len(rows) < SCAN_ROWS:
            return at
