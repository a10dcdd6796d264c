"""
The decision table: facts about a failure in, an action and the rule behind it out.

The rows stand in `decisions.toml`; a user may replace the file. `decide` is the only place that reads them.
"""

from __future__ import annotations

import functools
import tomllib
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from importlib import resources
from pathlib import Path
from typing import Any

from tracekit.errors import TracekitError


class Action(StrEnum):
    """What can be done about a failure."""

    RETRY = "retry"
    SETTLE = "settle"
    REPROMPT = "reprompt"
    RESTORE = "restore"
    REBUILD = "rebuild"
    REPLAY = "replay"
    RESTART = "restart"
    SKIP = "skip"
    ROLLBACK = "rollback"
    REVIEW = "review"


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known about one failure when it is decided what to do."""

    failure_class: str
    kind: str
    """`model`, `read`, `effect`, `step` or `task`."""
    risk: str = "none"
    """`none`, `low` or `high`."""
    work_done: float = 0.0
    is_unknown: bool = False
    settle: str = "none"
    """What can settle an unknown: `key`, `probe` or `none`."""
    limit_reached: bool = False
    critical: bool = True


@dataclass(frozen=True, slots=True)
class Verdict:
    """The action, and the row that chose it."""

    action: Action
    rule_id: str


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of the table; an empty column matches everything."""

    rule_id: str
    action: Action
    classes: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    risks: tuple[str, ...] = ()
    settles: tuple[str, ...] = ()
    unknown: bool | None = None
    limit: bool | None = None
    critical: bool | None = None
    done: tuple[float, float] | None = None

    def matches(self, facts: Facts) -> bool:
        """Whether every column that is filled in fits *facts*."""
        return (
            (not self.classes or any(fnmatchcase(facts.failure_class, each) for each in self.classes))
            and (not self.kinds or facts.kind in self.kinds)
            and (not self.risks or facts.risk in self.risks)
            and (not self.settles or facts.settle in self.settles)
            and self.unknown in (None, facts.is_unknown)
            and self.limit in (None, facts.limit_reached)
            and self.critical in (None, facts.critical)
            and (self.done is None or self.done[0] <= facts.work_done < self.done[1])
        )


class Table:
    """Rules in their order."""

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        self.rules = rules

    @staticmethod
    @functools.cache
    def standard() -> Table:
        """The table that comes with tracekit."""
        text = resources.files("tracekit.durable").joinpath("decisions.toml").read_text("utf-8")
        return Table(_rules(text, "decisions.toml"))

    @staticmethod
    def read(path: str | Path) -> Table:
        """A user's table; raises `TracekitError("decisions.invalid")` naming the row that can't be read."""
        return Table(_rules(Path(path).read_text("utf-8"), str(path)))

    def decide(self, facts: Facts) -> Verdict:
        """The first matching row; a person where none matches, and always at the hard border."""
        chosen = next((rule for rule in self.rules if rule.matches(facts)), None)
        if chosen is None:
            return Verdict(Action.REVIEW, "no_rule")
        if facts.is_unknown and facts.settle == "none" and chosen.action is not Action.REVIEW:
            return Verdict(Action.REVIEW, "border.unknown_effect")
        return Verdict(chosen.action, chosen.rule_id)


def _rules(text: str, where: str) -> tuple[Rule, ...]:
    rows = tomllib.loads(text).get("rule", [])
    return tuple(_rule(row, f"{where}, rule {number}") for number, row in enumerate(rows, 1))


def _rule(row: dict[str, Any], where: str) -> Rule:
    known = {"id", "action", "class", "kind", "risk", "settle", "unknown", "limit", "critical", "done"}
    if (unknown := row.keys() - known) or "id" not in row or row.get("action") not in set(Action):
        raise TracekitError(
            "decisions.invalid",
            f"{where}: expected an id, an action out of {', '.join(Action)} and columns out of "
            f"{', '.join(sorted(known))}; got {sorted(unknown) or row}",
        )
    done = row.get("done")
    return Rule(
        row["id"],
        Action(row["action"]),
        tuple(row.get("class", ())),
        tuple(row.get("kind", ())),
        tuple(row.get("risk", ())),
        tuple(row.get("settle", ())),
        row.get("unknown"),
        row.get("limit"),
        row.get("critical"),
        (float(done[0]), float(done[1])) if done else None,
    )
