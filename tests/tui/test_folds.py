"""Folding a tree that is never loaded whole."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.tui.fake_analysis import page
from tracekit_analyzers.views import Page, StepLine
from tracekit_tui.folds import Folds, subtree_end


def _line(number: int, depth: int) -> StepLine:
    return StepLine(
        f"{number:016x}",
        None,
        number + 1,
        depth,
        False,
        "tool",
        f"t{number}",
        None,
        "ok",
        None,
        None,
        None,
        None,
        0,
        0,
    )


def _fetch(rows: list[StepLine]):  # type: ignore[no-untyped-def]
    def fetch(offset: int, limit: int) -> Page[StepLine]:
        return page(rows, offset, limit)

    return fetch


@st.composite
def trees(draw: st.DrawFn) -> list[StepLine]:
    depth, rows = 0, []
    for number in range(draw(st.integers(1, 30))):
        rows.append(_line(number, depth))
        depth = draw(st.integers(0, depth + 1))
    return rows


@given(trees(), st.lists(st.integers(0, 29), max_size=6), st.integers(1, 7))
def test_a_folded_tree_shows_what_hiding_every_descendant_would(
    rows: list[StepLine], chosen: list[int], limit: int
) -> None:
    fetch, folds, hidden = _fetch(rows), Folds(), set()
    for position in chosen:
        if position < len(rows):
            end = subtree_end(fetch, position, rows[position].depth)
            folds.fold(rows[position].step_id, position + 1, end)
            hidden |= set(range(position + 1, end))
    expected = [row for at, row in enumerate(rows) if at not in hidden]

    found = [row for at in range(0, len(expected), limit) for row in folds.page(fetch, at, limit).rows]

    assert found == expected
    assert folds.page(fetch, 0, limit).total == len(expected)
    assert all(folds.shown(folds.source(at)) == at for at in range(len(expected)))


def test_unfolding_brings_the_rows_back() -> None:
    rows = [_line(0, 0), _line(1, 1), _line(2, 2), _line(3, 0)]
    fetch, folds = _fetch(rows), Folds()
    folds.fold(rows[0].step_id, 1, subtree_end(fetch, 0, 0))
    assert [row.seq for row in folds.page(fetch, 0, 9).rows] == [1, 4]

    folds.unfold(rows[0].step_id)

    assert folds.page(fetch, 0, 9).rows == tuple(rows)


def test_the_end_of_a_subtree_is_found_over_many_pages() -> None:
    rows = [_line(0, 0), *(_line(number, 1) for number in range(1, 1300)), _line(1300, 0)]

    assert subtree_end(_fetch(rows), 0, 0) == 1300


@given(trees(), st.lists(st.integers(0, 29), max_size=6), st.lists(st.integers(0, 29), max_size=4))
def test_folds_hide_the_same_subtrees_after_rows_have_come_anywhere(
    rows: list[StepLine], chosen: list[int], came: list[int]
) -> None:
    folds, folded = Folds(), set()
    for position in chosen:
        if position < len(rows):
            end = subtree_end(_fetch(rows), position, rows[position].depth)
            folds.fold(rows[position].step_id, position + 1, end)
            folded.add(rows[position].step_id)
    grown = list(rows)
    for number, position in enumerate(came):
        at = min(position, len(grown))
        depth = grown[at - 1].depth + 1 if at else 0
        grown.insert(at, _line(100 + number, depth))

    again = folds.in_grown(_fetch(grown))

    hidden: set[int] = set()
    for at, row in enumerate(grown):
        if row.step_id in folded:
            hidden |= set(range(at + 1, subtree_end(_fetch(grown), at, row.depth)))
    expected = [row for at, row in enumerate(grown) if at not in hidden]
    assert list(again.page(_fetch(grown), 0, 200).rows) == expected
