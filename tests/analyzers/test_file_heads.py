"""The first bytes of a packed file are found without going through the rest of it."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

from tracekit_analyzers.reading import files

LINE = b'{"record":"step","trace_id":"t","step_id":"s"}\n'


class Counting(io.BytesIO):
    """Says how much of it was read."""

    taken = 0

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size)
        self.taken += len(data)
        return data


def test_zeros_behind_a_packed_log_are_not_gone_through() -> None:
    stream = Counting(gzip.compress(LINE) + bytes(64 << 20))

    assert files.unpacked_head(stream) == LINE
    assert stream.taken < 2 << 20


def test_the_head_goes_over_several_members_and_stops_at_its_size() -> None:
    members = gzip.compress(LINE) + bytes(10) + gzip.compress(b"x" * 10) + gzip.compress(b"y" * (1 << 20))

    head = files.unpacked_head(io.BytesIO(members))

    assert head[: len(LINE) + 11] == LINE + b"x" * 10 + b"y"
    assert len(head) == files.HEAD_BYTES


def test_a_cut_archive_gives_what_it_still_holds(tmp_path: Path) -> None:
    whole = gzip.compress(b"".join(LINE.replace(b'"s"', b'"%d"' % n) for n in range(50)))
    path = tmp_path / "log.jsonl.gz"
    path.write_bytes(whole[:-20])

    assert files.head(path).startswith(LINE[:30])
    path.write_bytes(b"\x1f\x8b broken")
    assert files.head(path) == b""
