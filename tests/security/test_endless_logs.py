"""Logs without an end in sight: read up to a limit that is told, with what came and how to raise it, and all before it is kept."""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
import zstandard

from tests.analyzers.readers_help import Damage, input_file, read
from tests.analyzers.readers_samples import SAMPLES
from tests.analyzers.test_readers_hostile import BY_NAME, write
from tests.security.test_hostile_logs import line
from tracekit.errors import TracekitError
from tracekit_analyzers.model import BadLine
from tracekit_analyzers.readers import _bounds, _packed, _source
from tracekit_analyzers.readers._msgpack import unpack
from tracekit_analyzers.reading import files, ingest, reread
from tracekit_analyzers.reading.damage import Damage as Told
from tracekit_analyzers.session import Session

PACK: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "zstd": zstandard.compress}
packings = pytest.mark.parametrize("pack", PACK.values(), ids=PACK.keys())


def opened(*paths: Path) -> tuple[list[tuple[Any, ...]], tuple[BadLine, ...]]:
    """Step id and line of all steps, and the damage."""
    session = Session([*paths], diagnose=False)
    session.load()
    try:
        return list(session.sql("select step_id, line from steps order by line").rows), session.damage()
    finally:
        session.close()


def unpacked(data: bytes) -> tuple[bytes, str]:
    """What an archive gives, and how it breaks."""
    found = bytearray()
    try:
        for piece in _packed.pieces(io.BytesIO(data)):
            found += piece
    except _packed.BrokenArchive as error:
        return bytes(found), str(error)
    return bytes(found), ""


@packings
def test_all_members_of_an_archive_are_read_and_zeros_around_them_passed_over(
    pack: Callable[[bytes], bytes],
) -> None:
    one, two = b"a" * 3_000_000, b"b" * 70_000
    assert unpacked(pack(one) + pack(b"") + bytes(5) + pack(two) + bytes(3 << 20)) == (one + two, "")


@packings
def test_what_stands_before_a_tear_is_given_out_and_the_tear_told(pack: Callable[[bytes], bytes]) -> None:
    data = b"".join(line(step_id=str(zlib.crc32(b"%d" % n))) for n in range(5_000))
    whole = pack(data)
    cut, reason = unpacked(whole[: len(whole) // 2])
    assert "in the middle" in reason
    assert data.startswith(cut)
    assert len(cut) > len(data) // 10
    assert unpacked(whole + b"more") == (data, "what stands behind the archive is none")
    assert unpacked(pack(b"x") + b"\0\x1f")[1]


def test_a_gzip_archive_whose_sum_is_wrong_still_gives_all_that_it_holds() -> None:
    data = b"".join(line(step_id=str(n)) for n in range(50))
    packed = bytearray(gzip.compress(data))
    packed[-6] ^= 1
    found, reason = unpacked(bytes(packed))
    assert found == data
    assert "torn" in reason


@packings
def test_a_log_that_ends_in_the_middle_of_its_archive_is_told_as_cut(
    tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "log.jsonl.packed"
    path.write_bytes(pack(line())[:-3])
    assert [bad.reason.partition(":")[0] for bad in opened(path)[1]][-1:] == ["cut"]


@packings
def test_an_archive_that_unpacks_to_too_much_is_read_up_to_there_with_what_came_and_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pack: Callable[[bytes], bytes]
) -> None:
    monkeypatch.setattr(_bounds, "UNPACKED_BYTES", 1 << 20)
    path = tmp_path / "log.jsonl.packed"
    path.write_bytes(pack(b"".join(line(step_id="1") for _ in range(100_000))))
    rows, (bad,) = opened(path)
    assert len(rows) == 1
    for said in ("too_large", "1 MiB", "200 times", "unpack it to a file", "TRACEKIT_READ_LIMITS=2"):
        assert said in bad.reason
    monkeypatch.setenv("TRACEKIT_READ_LIMITS", "1000")
    assert opened(path)[1] == ()


@pytest.mark.parametrize("said", ["0", "much", "-1", "1.5"])
def test_limits_are_raised_by_whole_numbers_only(monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    monkeypatch.setenv("TRACEKIT_READ_LIMITS", said)
    with pytest.raises(TracekitError, match="TRACEKIT_READ_LIMITS"):
        _bounds.longest_value()


def test_a_line_that_is_too_long_is_told_with_its_size_and_those_around_it_keep_their_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_bounds, "LONGEST_VALUE", 100_000)
    monkeypatch.setattr(_bounds, "_MANY_BYTES", 1_000)
    path = tmp_path / "log.jsonl.gz"
    long = line(step_id="2", name="x" * 250_000)
    path.write_bytes(gzip.compress(line(step_id="1") + long + line(step_id="3") + b"{cut\n"))
    rows, (too_long, cut) = opened(path)
    assert rows == [("1", 1), ("3", 3)]
    assert (too_long.line, too_long.offset) == (2, len(line(step_id="1")))
    assert f"{len(long):,} bytes" in too_long.reason
    assert "100,000" in too_long.reason
    assert cut.offset == len(line(step_id="1") + long + line(step_id="3"))


def test_a_long_line_among_foreign_ones_costs_that_line_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_bounds, "LONGEST_VALUE", 10_000)
    path = tmp_path / "log"
    path.write_bytes(
        b'{"a":1}\n{"a":"' + b"x" * 20_000 + b'"}\n{"a":' + b"[" * 2000 + b"]" * 2000 + b'}\n{"b":2}\n'
    )
    damage = Damage()
    assert list(_source.lines(input_file(path), damage)) == [(1, {"a": 1}), (4, {"b": 2})]
    assert [(bad["line"], bad["reason"].partition(":")[0]) for bad in damage.found] == [
        (2, "too_large"),
        (3, "too_deep"),
    ]


def test_one_value_of_too_many_items_is_refused_wherever_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_bounds, "MOST_ITEMS", 10_000)
    monkeypatch.setattr(_bounds, "_MANY_BYTES", 10_000)
    monkeypatch.setattr(_source, "_CHUNK_CHARACTERS", 1_000)
    items = b"[" + b"[]," * 100_000 + b"[]]"
    path = tmp_path / "log.json"
    readings: tuple[Callable[[Any, Any], Any], ...] = (
        lambda file, damage: list(_source.items(file, damage)),
        lambda file, damage: _source.whole(file, damage),
        lambda file, damage: list(_source.lines(file, damage)),
    )
    for reading in readings:
        damage = Damage()
        path.write_bytes(b'{"a":' + items + b"}\n")
        assert not reading(input_file(path), damage)
        assert damage.found[0]["reason"].startswith("too_large: a value of ")
        assert "10,000 that are taken" in damage.found[0]["reason"]
    rows, bad = opened(_native(tmp_path, items))
    assert [row[0] for row in rows] == ["1", "3"]
    assert bad[0].reason.startswith("too_large")
    with pytest.raises(_bounds.TooLarge):
        unpack(b"\xdd\x7f\xff\xff\xff" + b"\xc0" * 1000)


def _native(folder: Path, items: bytes) -> Path:
    """A packed log whose second line holds *items*, and is not what the engine takes."""
    path = folder / "log.jsonl.gz"
    middle = line(step_id="2").replace(b'"ok"', b'"ok","input_snapshot":' + items + b',"x":NaN')
    path.write_bytes(gzip.compress(line(step_id="1") + middle + line(step_id="3")))
    return path


def test_a_document_that_is_too_long_is_refused_with_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_bounds, "LONGEST_VALUE", 10_000)
    monkeypatch.setattr(_source, "_CHUNK_CHARACTERS", 1_000)
    path = tmp_path / "log.json"
    path.write_text(json.dumps({"messages": [{"role": "user", "content": "x" * 100} for _ in range(1000)]}))
    for reading in (_source.whole, lambda file, damage: next(_source.items(file, damage), None)):
        damage = Damage()
        assert reading(input_file(path), damage) is None
        assert damage.found[0]["reason"].startswith("too_large: a value of 10,00")


def test_what_is_no_json_is_told_at_once_and_nothing_of_it_is_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_bounds, "LONGEST_VALUE", 10_000)
    monkeypatch.setattr(_source, "_CHUNK_CHARACTERS", 1_000)
    path = tmp_path / "out.txt"
    path.write_text('{"a": 1}\n' + "noise, " * 10_000 + '\n{"b": 2}\n')
    damage = Damage()
    assert list(_source.items(input_file(path), damage)) == [{"a": 1}, {"b": 2}]
    assert len(damage.found) == 1


@pytest.mark.parametrize("useless", [b"1\n", b"\n", b"{cut\n", b"[]\n"])
def test_a_flood_of_lines_without_a_record_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, useless: bytes
) -> None:
    monkeypatch.setattr(_bounds, "MOST_USELESS", 1_000)
    monkeypatch.setattr("tracekit_analyzers.reading.piecewise._BLOCK_LINES", 100)
    path = tmp_path / "log.jsonl"
    path.write_bytes(
        line(step_id="1") + useless * 900 + line(step_id="2") + useless * 50_000 + line(step_id="3")
    )
    rows, bad = opened(path)
    assert [row[0] for row in rows] == ["1", "2"]
    assert bad[0].reason.startswith("too_large: 1,000 lines")
    assert len(bad) < 3_000

    damage = Damage()
    values = [value for _, value in _source.lines(input_file(path), damage) if isinstance(value, dict)]
    assert [value["step_id"] for value in values] == ["1", "2"]
    monkeypatch.setenv("TRACEKIT_READ_LIMITS", "100")
    assert [row[0] for row in opened(path)[0]] == ["1", "2", "3"]


def test_a_flood_of_values_without_a_record_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_bounds, "MOST_USELESS", 1_000)
    path = tmp_path / "log.json"
    for text in ('[{"a":1},' + "[]," * 5_000 + "[]]", '{"a":1}' + " 7" * 5_000):
        path.write_text(text)
        damage = Damage()
        found = list(_source.items(input_file(path), damage))
        assert (found[0], len(found)) == ({"a": 1}, 1_001)
        assert damage.found[-1]["reason"].startswith("too_large: 1,000 lines or values")


def test_a_torn_line_is_searched_for_another_record_only_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracekit_analyzers.reading.damage._MOST_TORN_CHARACTERS", 10_000)
    looked_at: list[int] = []
    real = json.loads
    monkeypatch.setattr(
        json, "loads", lambda text, **rest: (looked_at.append(len(text)), real(text, **rest))[1]
    )
    from tracekit_analyzers.reading.damage import examine

    (piece,) = examine(b'{"record":"' + b'{"record"' * 5_000)
    assert piece.record is None
    assert sum(looked_at) < 200_000


def test_one_damaged_file_among_very_many_is_found_in_few_tries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(400):
        (tmp_path / f"{n:03}.jsonl").write_bytes(line(step_id=str(n)) + (b"{cut" if n == 77 else b""))
    tries: list[int] = []
    real = ingest.load
    monkeypatch.setattr(
        ingest, "load", lambda con, paths, limit: (tries.append(len(paths)), real(con, paths, limit))[1]
    )
    rows, (bad,) = opened(tmp_path)
    assert len(rows) == 400
    assert Path(bad.file).name == "077.jsonl"
    assert len(tries) < 60


def test_small_files_of_two_formats_by_turns_are_handed_over_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(100):
        (tmp_path / f"{n:03}-a.jsonl").write_bytes(line(step_id=f"own{n}"))
        chat = [{"role": "user", "content": f"hi {n}"}, {"role": "assistant", "content": "hello"}]
        (tmp_path / f"{n:03}-b.json").write_text(json.dumps(chat))
    tries: list[int] = []
    real = ingest.load
    monkeypatch.setattr(
        ingest, "load", lambda con, paths, limit: (tries.append(len(paths)), real(con, paths, limit))[1]
    )
    rows, bad = opened(tmp_path)
    assert (len(rows), bad) == (200, ())
    assert [row for row in rows if row[0] == "own7"] == [("own7", 1)]
    assert len(tries) < 10


def test_first_bytes_of_a_file_are_read_when_they_are_asked_for_and_not_kept(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_bytes(line())
    (found,) = files.find([tmp_path], tmp_path)
    assert found.head == line()
    log.write_bytes(line() * 2)
    assert found.head == line() * 2
    log.unlink()
    with pytest.raises(TracekitError) as caught:
        _ = found.head
    assert caught.value.code == "input.unreadable"


def test_values_that_json_can_not_write_are_made_visible(tmp_path: Path) -> None:
    record = {"a": "\ud83e", "b": 2**70, "c": float("inf"), 5: ("x",), "source": {"line": 3}}
    damage = Damage()
    path = tmp_path / "log"
    path.write_bytes(b"")
    found = orjson.loads(ingest.dumped(record, input_file(path), damage))
    assert found["a"] == "\\ud83e"
    assert found["c"] == {"$tk": {"type": "float", "value": "Infinity"}}
    assert found["5"] == ["x"]
    assert damage.found == []


def test_looking_for_a_word_passes_over_a_line_that_is_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reread, "_BLOCK", 100)
    monkeypatch.setattr(reread, "_LONGEST_LINE", 500)
    path = tmp_path / "log.jsonl"
    lines = [
        b"a word\n",
        b"x" * 5_000 + b" word\n",
        b"\n",
        b"y" * 450 + b" word\n",
        b"z" * 999 + b"\n",
        b"word",
    ]
    path.write_bytes(b"".join(lines))
    found = list(reread.holding(path, b"word"))
    places = [sum(map(len, lines[:n])) for n in range(len(lines))]
    assert found == [(n + 1, places[n], lines[n]) for n in (0, 3, 5)]


def test_a_limit_that_was_met_is_listed_first_behind_any_number_of_bad_lines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tracekit_analyzers.reading.damage.MAX_LISTED", 5)
    damage = Told()
    for number in range(1, 20):
        damage.bad(file="a", line=number, offset=None, reason="not_json", data=b"")
    damage.bad(file="a", line=20, offset=None, reason="too_large: the rest is not read", data=b"")
    assert damage.bad_count == 20
    assert [bad.line for bad in damage.listed()] == [20, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    "name", ["openai_chat", "claude_code", "codex", "openclaw", "js_spans", "langsmith", "autogen"]
)
def test_a_run_that_has_to_be_held_is_taken_up_to_what_fits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    reader, sample = BY_NAME[name], SAMPLES[name]
    one = sample if isinstance(sample, list | tuple) else [sample]
    if name == "openai_chat":
        one = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    many = [*one, *([one[-1]] * 2_000)]
    path = write(tmp_path / "log", tuple(many) if isinstance(sample, tuple) else many)
    monkeypatch.setattr(_bounds, "MOST_HELD", len(json.dumps(one)) + 1_000)
    found, damage = read(reader, path)
    assert found
    assert damage.found[-1]["reason"].startswith("too_large: what has to be held")
    monkeypatch.setenv("TRACEKIT_READ_LIMITS", "10000")
    assert not any(bad["reason"].startswith("too_large") for bad in read(reader, path)[1].found)
