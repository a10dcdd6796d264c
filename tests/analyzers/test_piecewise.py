"""Around damage the engine still reads the good blocks, and everything comes out as if Python had read line by line."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import pytest

from tracekit_analyzers.engine import silent
from tracekit_analyzers.model import BadLine, InputFile
from tracekit_analyzers.reading import database, ingest, piecewise, scanning
from tracekit_analyzers.reading.damage import Damage


@pytest.fixture(autouse=True)
def small_blocks_go_to_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(piecewise, "FEW_BYTES", 0)


NAMED = "select * exclude (source), cast(source ->> '$.line' as bigint) as line from lines order by rowid"


def damaged_log(path: Path, seed: int) -> Path:
    chance = random.Random(seed)
    lines = [
        json.dumps(
            {
                "record": "step",
                "trace_id": f"t{n // 9}",
                "step_id": f"s{n}",
                "output_snapshot": "é" * (n % 50),
            }
        ).encode()
        for n in range(300)
    ]
    for place in chance.sample(range(300), k=6):
        line = lines[place]
        lines[place] = chance.choice(
            [line[: len(line) // 2], line + line, b"", b"[7]", line[:-1] + b',"x":NaN}', b"\0\0", line + b" \xff",
             line[:-1] + b',"source":{"index":4}}', line[:-1] + b',"trace_id":"again"}']
        )  # fmt: skip
    path.write_bytes(b"\n".join(lines) + (b"" if seed % 2 else b"\n"))
    return path


def read(path: Path, folder: Path) -> tuple[list[tuple[object, ...]], tuple[BadLine, ...], int]:
    folder.mkdir()
    damage = Damage()
    con = database.connect(folder, 0)
    ingest.Ingest(con, damage, folder, reader="native", tell=silent).add([InputFile(path, path.name, b"")])
    found = con.execute(NAMED).fetchall()
    con.close()
    return found, damage.listed(), damage.lines


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("packed", [False, True])
def test_blocks_give_what_single_lines_give(
    seed: int, packed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = damaged_log(tmp_path / "log.jsonl", seed)
    if packed:
        log = tmp_path / "log.jsonl.gz"
        log.write_bytes(gzip.compress((tmp_path / "log.jsonl").read_bytes()))
    monkeypatch.setattr(piecewise.Piecewise, "_taken", lambda *_: False)
    by_line = read(log, tmp_path / "by_line")
    monkeypatch.undo()
    monkeypatch.setattr(piecewise, "_BLOCK_BYTES", 8_000)
    monkeypatch.setattr(piecewise, "_BY_LINE_BYTES", 400)

    assert read(log, tmp_path / "by_block") == by_line
    assert len(by_line[1]) >= 1


def test_only_the_lines_around_damage_go_through_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log.jsonl"
    line = b'{"record":"step","trace_id":"t","step_id":"%d"}\n'
    log.write_bytes(b"".join(line % n for n in range(2000)) + b'{"rec\n' + line % 9)
    monkeypatch.setattr(piecewise, "_BLOCK_BYTES", 10_000)
    monkeypatch.setattr(piecewise, "_BY_LINE_BYTES", 1_000)
    looked_at: list[bytes] = []
    real = piecewise.repaired_lines
    monkeypatch.setattr(
        piecewise, "repaired_lines", lambda lines, *rest: (looked_at.extend(lines), real(lines, *rest))[1]
    )

    found, bad, lines = read(log, tmp_path / "folder")

    assert (len(found), lines, [piece.line for piece in bad]) == (2001, 2002, [2001])
    assert b'{"rec\n' in looked_at
    assert len(looked_at) < 100


@pytest.mark.parametrize("word", [b"NaN", b"Infinity"])
@pytest.mark.parametrize("before", range(10))
def test_a_number_that_is_no_json_is_seen_at_any_place(word: bytes, before: int, tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"x" * ((256 << 10) - before) + word + b"\n")
    clean = tmp_path / "clean"
    clean.write_bytes(b"x" * ((256 << 10) - before) + word[:-1] + b"\n")

    assert scanning.holds_no_json_numbers(path)
    assert scanning.line_count(path) is None
    assert not scanning.holds_no_json_numbers(clean)
    assert scanning.line_count(clean) == 1
