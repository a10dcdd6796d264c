"""Every awkward thing that can stand in a JSON Lines file, between five good records."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
import zstandard

from tracekit_analyzers.engine import Engine
from tracekit_analyzers.model import BadLine

GOOD = [
    {
        "trace_id": "t1",
        "step_id": f"s{n}",
        "duration_ms": n,
        "tool_name": "a.b",
        "output_snapshot": {"status": "ok"},
    }
    for n in range(5)
]
ODD = {
    "trace_id": "t1",
    "step_id": "odd",
    "duration_ms": 9,
    "tool_name": "a.b",
    "output_snapshot": {"status": "ok"},
}
LINES = [json.dumps(record).encode() for record in GOOD]


def odd(**fields: object) -> bytes:
    return json.dumps({**ODD, **fields}).encode()


def between(line: bytes) -> bytes:
    return b"\n".join([*LINES[:3], line, *LINES[3:]]) + b"\n"


HALF = odd()[:40]
DEEP = b'{"trace_id":"t1","step_id":"odd","d":' + b"[" * 2000 + b"]" * 2000 + b"}"

CASES: dict[str, tuple[bytes, bool, str | None]] = {
    # name: (bytes, whether the odd record is kept, how its damage begins)
    "clean": (b"\n".join(LINES) + b"\n", False, None),
    "no_end_of_line": (b"\n".join(LINES), False, None),
    "torn_last_line": (b"\n".join(LINES) + b"\n" + HALF, False, "cut"),
    "torn_line_in_middle": (between(HALF), False, "cut"),
    "record_behind_a_torn_one": (between(HALF + odd()), True, "cut"),
    "two_records_glued": (between(odd() + odd()), True, "glued"),
    "blank_line": (between(b""), False, None),
    "nul_block": (between(b"\0" * 64), False, "nul_block"),
    "nul_bytes_before_a_record": (between(b"\0" * 64 + odd()), True, "nul_block"),
    "crlf": (b"\r\n".join(LINES) + b"\r\n", False, None),
    "byte_order_mark": (b"\xef\xbb\xbf" + b"\n".join(LINES) + b"\n", False, None),
    "nan": (between(b'{"trace_id":"t1","step_id":"odd","duration_ms":NaN}'), True, "not_finite"),
    "nan_inside": (between(b'{"trace_id":"t1","step_id":"odd","output_snapshot":{"x":NaN}}'), True, "not_finite"),
    "lone_surrogate": (between(b'{"trace_id":"t1","step_id":"odd","tool_name":"a\\ud83e"}'), True, "lone_surrogate"),
    "invalid_utf8": (between(b'{"trace_id":"t1","step_id":"odd","tool_name":"a\xff"}'), True, "invalid_utf8"),
    "duplicate_key": (between(b'{"trace_id":"t1","step_id":"odd","attempt":9,"attempt":8}'), True, "duplicate_key"),
    "number_as_text": (between(odd(duration_ms="12 ms")), True, "wrong_type duration_ms"),
    "time_as_nonsense": (between(odd(started_at="soon")), True, "wrong_type started_at"),
    "object_as_text": (between(odd(output_snapshot="plain text")), True, None),
    "int_over_int64": (between(odd(duration_ms=2**64)), True, "out_of_range"),
    "top_level_list": (between(b"[1,2]"), False, "not_object"),
    "not_json": (between(b"INFO starting up"), False, "not_json"),
    "other_record": (between(b'{"record":"invoice","id":7}'), False, "unknown_record"),
    "late_new_field": (b"\n".join(LINES * 3000 + [odd(brand_new=1)]) + b"\n", True, None),
    "line_of_20_mb": (between(odd(tool_name="z" * 20_000_000)), True, None),
    "deep_nesting": (between(DEEP), True, None),
    "deep_nesting_beside_damage": (between(DEEP + b"\n" + HALF), True, "cut"),
    "u0000_in_text": (between(b'{"trace_id":"t1","step_id":"odd","tool_name":"a\\u0000b"}'), True, None),
}  # fmt: skip


def read(path: Path) -> tuple[set[str], tuple[BadLine, ...]]:
    with Engine([path], diagnose=False) as engine:
        engine.load()
        steps = engine.con.execute("select step_id from steps").fetchall()
        return {row[0] for row in steps}, engine.damage.listed()


@pytest.mark.parametrize("name", CASES)
def test_every_good_record_is_kept_once_and_the_bad_piece_is_told(name: str, tmp_path: Path) -> None:
    data, odd_kept, reason = CASES[name]
    path = tmp_path / "log.jsonl"
    path.write_bytes(data)

    steps, bad = read(path)

    assert steps == {"s0", "s1", "s2", "s3", "s4"} | ({"odd"} if odd_kept else set())
    assert [piece.reason.startswith(reason or "?") for piece in bad] == ([True] if reason else [])


def test_a_bad_piece_is_told_with_its_place_and_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(between(b'{"trace_id":"\x1b[31m torn'))

    _, (bad,) = read(path)

    assert (bad.file, bad.line, bad.offset) == (str(path), 4, len(b"\n".join(LINES[:3])) + 1)
    assert bad.head == '{"trace_id":"\\x1b[31m torn'


def test_a_record_behind_a_torn_one_is_found_at_its_own_line(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(between(HALF + odd()))

    with Engine([path], diagnose=False) as engine:
        engine.load()
        places = dict(engine.con.execute("select step_id, line from steps").fetchall())

    assert (places["s2"], places["odd"], places["s3"]) == (3, 4, 5)


def test_lines_are_numbered_in_clean_files_too(tmp_path: Path) -> None:
    for name in ("a", "b"):
        record = {"trace_id": name, "tool_name": "t"}
        lines = [json.dumps({**record, "step_id": f"{name}{n}"}) for n in range(3)]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines) + "\n")

    with Engine([tmp_path], diagnose=False) as engine:
        engine.load()
        places = engine.con.execute("select step_id, line from steps order by step_id").fetchall()

    assert places == [("a0", 1), ("a1", 2), ("a2", 3), ("b0", 1), ("b1", 2), ("b2", 3)]


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor().compress])
def test_packed_logs_are_read_like_others(pack: object, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl.packed"
    path.write_bytes(pack(between(HALF)))  # type: ignore[operator]

    steps, bad = read(path)

    assert steps == {"s0", "s1", "s2", "s3", "s4"}
    assert [(piece.line, piece.reason[:3]) for piece in bad] == [(4, "cut")]


def test_what_a_cut_archive_still_holds_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl.gz"
    whole = gzip.compress(b"\n".join(LINES * 2000) + b"\n", compresslevel=0)
    path.write_bytes(whole[: len(whole) * 9 // 10])

    steps, bad = read(path)

    assert steps == {"s0", "s1", "s2", "s3", "s4"}
    assert any(piece.reason.startswith("cut") for piece in bad)


def test_a_json_file_that_broke_before_its_format_could_be_known_is_told_as_damage(tmp_path: Path) -> None:
    good = {
        "record": "step",
        "trace_id": "ab" * 16,
        "step_id": "cd" * 8,
        "kind": "tool",
        "name": "x",
        "status": "ok",
    }
    (tmp_path / "run.jsonl").write_text(json.dumps(good) + "\n")
    (tmp_path / "broken.json").write_text('{"messages": [\n  {"role": "user" "content": "hello"}]}')
    (tmp_path / "package.json").write_text('{"name": "no log at all"}')
    (tmp_path / "notes.txt").write_text("{ no log either")

    with Engine([tmp_path], diagnose=False) as engine:
        engine.load()

    (bad,) = engine.damage.listed()
    assert (Path(bad.file).name, bad.line) == ("broken.json", 2)
    assert bad.reason.startswith("not_json: ")
    assert sorted(Path(name).name for name in engine.skipped) == ["broken.json", "notes.txt", "package.json"]
