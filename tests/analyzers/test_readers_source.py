"""Values out of files: the same whatever the size of the pieces that are read, and damage with its place."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.analyzers.readers_help import Damage, input_file
from tracekit_analyzers.readers import _source
from tracekit_analyzers.readers._time import duration_ns, epoch_ns, has_zone, iso_ns, stamp

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)
QUIET = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def items(path: Path) -> tuple[list[Any], Damage]:
    damage = Damage()
    return list(_source.items(input_file(path), damage)), damage


@QUIET
@given(values=st.lists(JSON, max_size=6), chunk=st.integers(1, 40), indent=st.sampled_from([None, 1]))
def test_a_list_gives_its_elements_for_any_size_of_piece(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, values: list[Any], chunk: int, indent: int | None
) -> None:
    monkeypatch.setattr(_source, "_CHUNK_CHARACTERS", chunk)
    path = tmp_path / "list.json"
    path.write_text(json.dumps(values, ensure_ascii=False, indent=indent).encode("utf-8", "replace").decode())

    found, damage = items(path)
    assert found == json.loads(path.read_text())
    assert damage.found == []


@QUIET
@given(
    values=st.lists(st.dictionaries(st.text(max_size=3), JSON, max_size=3), min_size=1, max_size=5),
    chunk=st.integers(1, 40),
)
def test_values_one_after_another_are_all_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, values: list[Any], chunk: int
) -> None:
    monkeypatch.setattr(_source, "_CHUNK_CHARACTERS", chunk)
    path = tmp_path / "many.json"
    path.write_bytes("\n".join(json.dumps(value, indent=1) for value in values).encode())

    found, damage = items(path)
    assert found == values
    assert damage.found == []


@QUIET
@given(value=JSON, share=st.floats(0, 1))
def test_a_look_at_a_cut_head_never_raises(value: Any, share: float) -> None:
    data = json.dumps({"first": 1, "value": value}).encode()
    head = data[: max(12, int(len(data) * share))]

    assert _source.peek(head) is None or _source.peek(head)["first"] == 1


def test_a_head_that_ends_inside_a_text_shows_what_stands_before_it() -> None:
    head = b'[{"role": "system", "content": "a, b: {c}'
    assert _source.peek(head) == [{"role": "system"}]


def test_what_is_no_json_between_objects_is_told_at_its_place_and_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_text('{"a": 1}\nnoise é\n{"b": 2}\n{"c": ')
    found, damage = items(path)

    assert found == [{"a": 1}, {"b": 2}]
    assert [bad["offset"] for bad in damage.found] == [9, len('{"a": 1}\nnoise é\n{"b": 2}\n'.encode())]


@pytest.mark.parametrize("packed", ["gzip", "zstd", "plain with a mark"])
def test_packed_files_are_read_like_plain_ones(tmp_path: Path, packed: str) -> None:
    data = b'[{"a": 1}, {"b": 2}]'
    path = tmp_path / "log"
    path.write_bytes(
        {
            "gzip": gzip.compress,
            "zstd": zstandard.compress,
            "plain with a mark": lambda d: b"\xef\xbb\xbf" + d,
        }[packed](data)
    )
    assert items(path)[0] == [{"a": 1}, {"b": 2}]


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("2026-01-01T00:00:00Z", 1767225600_000000000),
        ("2026-01-01T02:00:00.123456789+02:00", 1767225600_123456789),
        ("2026-01-01 00:00:00,5", 1767225600_500000000),
        ("2026-01-01T00:00:00+0000", 1767225600_000000000),
        ("1969-12-31T23:59:59.5Z", -500000000),
        ("2026-13-01T00:00:00Z", None),
        ("yesterday", None),
        (7, None),
    ],
)
def test_iso_times_in_all_spellings(text: Any, ns: int | None) -> None:
    assert iso_ns(text) == ns


def test_a_missing_zone_is_noticed_and_numbers_out_of_range_are_no_times() -> None:
    assert has_zone("2026-01-01T00:00:00Z")
    assert not has_zone("2026-01-01T00:00:00.5")
    assert epoch_ns("1544712660000000000", per_second=1_000_000_000) == 1544712660000000000
    assert epoch_ns(1771237534577907, per_second=1_000_000) == 1771237534577907000
    assert [epoch_ns(value, per_second=1) for value in (None, True, "x", 0, -1, 1e300, float("nan"))] == [
        None
    ] * 7
    assert stamp(1767225600_123456789) == "2026-01-01T00:00:00.123456Z"
    assert (duration_ns("PT3M3.698696S"), duration_ns("P1DT1H"), duration_ns("3s")) == (
        183698696000,
        90000_000000000,
        None,
    )
