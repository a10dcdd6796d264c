"""The order in which the steps of a trace are shown: depth first, siblings by start, missing parents as placeholders."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

Narrow = tuple[str, str | None, int]
"""Step id, parent step id, seq."""


@dataclass(frozen=True, slots=True)
class Place:
    """One line of the tree."""

    step_id: str
    parent_step_id: str | None
    seq: int
    """0 for a placeholder."""
    depth: int
    has_children: bool
    placeholder: bool = False


def ordered(steps: Sequence[Narrow]) -> tuple[Place, ...]:
    """Lines of the tree of *steps* (by seq); a step that is its own ancestor is shown as a root."""
    known = {step_id for step_id, _, _ in steps}
    children: dict[str | None, list[Narrow]] = defaultdict(list)
    orphans: dict[str, int] = {}
    for step in steps:
        parent = step[1]
        children[parent].append(step)
        if parent is not None and parent not in known:
            orphans.setdefault(parent, step[2])
    tops: list[tuple[int, Narrow | str]] = [(step[2], step) for step in children[None]]
    tops += [(seq, parent) for parent, seq in orphans.items()]
    lines: list[Place] = []
    seen: set[str] = set()
    for _, top in sorted(tops, key=lambda item: item[0]):
        if isinstance(top, str):
            lines.append(Place(top, None, 0, 0, True, placeholder=True))
            _descend(children[top], 1, children, lines, seen)
        else:
            _descend([top], 0, children, lines, seen)
    for step in steps:
        if step[0] not in seen:
            _descend([step], 0, children, lines, seen)
    return tuple(lines)


def _descend(
    start: list[Narrow],
    depth: int,
    children: dict[str | None, list[Narrow]],
    lines: list[Place],
    seen: set[str],
) -> None:
    """Add *start* and all below it; a stack and not recursion, as chains of steps can be thousands long."""
    stack = [(step, depth) for step in reversed(start)]
    while stack:
        (step_id, parent, seq), level = stack.pop()
        if step_id in seen:
            continue
        seen.add(step_id)
        below = children.get(step_id, [])
        lines.append(Place(step_id, parent, seq, level, bool(below)))
        stack.extend((child, level + 1) for child in reversed(below))
