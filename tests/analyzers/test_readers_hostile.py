"""No reader raises on what is not its format, or is its format with one value of the wrong kind."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.analyzers.readers_help import Damage, input_file, read, steps
from tests.analyzers.readers_samples import SAMPLES
from tracekit_analyzers.model import Reader
from tracekit_analyzers.readers import all_readers
from tracekit_analyzers.reading import ingest
from tracekit_analyzers.reading.registry import choose

BY_NAME = {reader.name: reader for reader in all_readers()}
WRONG = (None, 7, "text", [], {}, [None], True)


def write(path: Path, sample: Any) -> Path:
    """A list of objects marked as lines becomes JSON Lines, anything else one JSON value."""
    if isinstance(sample, tuple):
        path.write_text("".join(json.dumps(record) + "\n" for record in sample))
    else:
        path.write_text(json.dumps(sample))
    return path


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value inside *value*."""
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list | tuple)
        else ()
    )
    for key, inner in items:
        yield (*path, key)
        yield from places(inner, (*path, key))


def changed(value: Any, path: tuple[Any, ...], wrong: Any) -> Any:
    """A copy of *value* with *wrong* at *path*."""
    if not path:
        return wrong
    found = list(value) if isinstance(value, tuple) else copy.copy(value)
    found[path[0]] = changed(value[path[0]], path[1:], wrong)
    return tuple(found) if isinstance(value, tuple) else found


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_of_each_format_is_known_by_its_content_and_read(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / "log", SAMPLES[name])
    reader = choose(input_file(path))

    assert reader is BY_NAME[name]
    found, damage = read(reader, path)
    assert steps(found)
    assert damage.found == []


@pytest.mark.parametrize("name", SAMPLES)
def test_a_value_of_the_wrong_kind_anywhere_never_raises(tmp_path: Path, name: str) -> None:
    reader, path = BY_NAME[name], tmp_path / "log"
    for number, place in enumerate(places(SAMPLES[name])):
        wrong = WRONG[number % len(WRONG)]
        write(path, changed(SAMPLES[name], place, wrong))
        for other in all_readers():
            other.sniff(input_file(path))
        found, damage = read(reader, path)
        assert found or damage.found, place
        for record in found:
            orjson.dumps(record)


@pytest.mark.parametrize("reader", all_readers(), ids=lambda reader: reader.name)
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00" * 100,
        b"{",
        b"[",
        b"[[[[",
        b'{"a": ',
        b"\xff\xfe\x00",
        b"PK\x03\x04broken",
        b"SQLite format 3\x00broken",
    ],
    ids=lambda data: repr(data[:12]),
)
def test_no_reader_raises_on_rubbish(tmp_path: Path, reader: Reader, data: bytes) -> None:
    path = tmp_path / "log"
    path.write_bytes(data)
    damage = Damage()

    reader.sniff(input_file(path))
    assert [r for r in reader.read(input_file(path), damage) if r["record"] == "step"] == []


@pytest.mark.parametrize("levels", [300, 600, 950, 2_000, 100_000])
@pytest.mark.parametrize("name", SAMPLES)
def test_a_value_of_any_depth_is_kept_or_told_and_never_raises(
    tmp_path: Path, name: str, levels: int
) -> None:
    reader, path = BY_NAME[name], tmp_path / "log"
    for place in list(places(SAMPLES[name]))[::4]:
        write(path, changed(SAMPLES[name], place, "@deep@"))
        path.write_text(path.read_text().replace('"@deep@"', "[" * levels + "]" * levels))
        for other in all_readers():
            other.sniff(input_file(path))
        found, damage = read(reader, path)
        lines = [ingest.dumped(record, input_file(path), damage) for record in found]
        assert lines or damage.found, place
        assert all(isinstance(json.loads(line), dict) for line in lines), place
