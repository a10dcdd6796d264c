"""The search for secrets reads every file of a home, not only its log."""

import shutil
import sqlite3
import zlib
from pathlib import Path

import pytest

import tracekit
from tracekit import config
from tracekit.cli import main
from tracekit.recording import setup

KEY = "sk-proj-" + "aB3dE5fG7hJ9kL1mN2pQ" * 2


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a log that holds no secret."""
    folder = tmp_path / "home"
    (folder / "traces").mkdir(parents=True)
    shutil.copy(Path(__file__).parents[2] / "sample_traces" / "refund_ok.jsonl", folder / "traces")
    return folder


def database(path: Path, value: str | bytes) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("create table blob (hash text, data blob)")
        connection.execute("insert into blob values ('a', ?)", (value,))
    connection.close()


def test_a_secret_in_a_row_of_a_store_is_found(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    database(home / "state.db", f"the key is {KEY}")

    assert main(["audit", "--secrets", str(home)]) == 1

    out = capsys.readouterr().out
    assert "state.db blob.data row 1" in out
    assert KEY not in out


def test_a_secret_in_a_packed_body_is_found(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    database(home / "state.db", zlib.compress(f'{{"authorization": "Bearer {KEY}"}}'.encode() * 20))

    assert main(["audit", "--secrets", str(home)]) == 1


def test_a_secret_that_lies_across_two_pieces_of_a_file_is_found_with_its_place(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "blobs").mkdir()
    (home / "blobs" / "a").write_text("x " * ((1 << 19) - 10) + KEY + " x" * 1000)

    assert main(["audit", "--secrets", str(home)]) == 1

    assert "blobs/a byte" in capsys.readouterr().out


def test_a_home_of_our_own_holds_none_with_default_settings(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tracekit.init(home=home)

    @tracekit.tool(effect="write")
    def put(token: str) -> dict[str, str]:
        return {"authorization": f"Bearer {token}"}

    @tracekit.task
    def job(run: tracekit.Run) -> None:
        run.tool(put, KEY)

    job.start(task_id="t")
    setup.shutdown()
    config.reset()

    assert main(["audit", "--secrets", str(home)]) == 0
    assert "no secrets found" in capsys.readouterr().out
