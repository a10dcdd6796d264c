"""Answers that are kept for as long as they are true."""

from __future__ import annotations

from tracekit_analyzers.asking.kept import Kept


def test_a_value_is_made_once_for_a_version_and_anew_for_the_next() -> None:
    made: list[str] = []
    kept: Kept[int] = Kept(2)

    def make() -> int:
        made.append("made")
        return len(made)

    assert [kept.get("a", 1, make), kept.get("a", 1, make)] == [1, 1]
    assert [kept.get("a", 2, make), kept.get("a", 2, make)] == [2, 2]


def test_a_value_that_was_overtaken_while_it_was_made_is_given_and_not_kept() -> None:
    kept: Kept[str] = Kept(2)

    def slowly() -> str:
        kept.get("a", 2, lambda: "new")
        return "old"

    assert kept.get("a", 1, slowly) == "old"
    assert kept.get("a", 2, lambda: "made again") == "new"


def test_the_one_that_was_made_first_gives_way() -> None:
    kept: Kept[str] = Kept(2)
    for name in ("a", "b", "c"):
        kept.get(name, 1, lambda: "first")

    assert [kept.get(name, 1, lambda: "again") for name in ("b", "c", "a")] == ["first", "first", "again"]
