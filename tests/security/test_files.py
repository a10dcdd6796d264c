"""Names and kinds of files that a stranger chose, and who may read what tracekit makes."""

from __future__ import annotations

import os
import shutil
import socket
import threading
from pathlib import Path

import orjson
import pytest

from tracekit.cli import main
from tracekit.store import open_store, shown_url
from tracekit_analyzers.reading import files
from tracekit_analyzers.session import Session
from tracekit_analyzers.shortcuts import index

NAMES = (
    b"new\nline.jsonl", b"esc\x1b]0;pwned\x07.jsonl", b"[markup].jsonl", b"no\xff\xfeutf8.jsonl", b"star*.jsonl", b"starred.jsonl",
    b"q?.jsonl", b"{a,b}.jsonl", b"quote'.jsonl", b'double".jsonl', b"-dash.jsonl", "bidi\u202e.jsonl".encode(), b"; drop table lines.jsonl",
    b"$HOME `id`.jsonl", b"back\\slash.jsonl", b"~.jsonl", b"%41.jsonl",
)  # fmt: skip


def log(path: Path, trace_id: str) -> Path:
    path.write_bytes(
        orjson.dumps({"record": "step", "trace_id": trace_id, "step_id": "1", "kind": "tool", "status": "ok"})
        + b"\n"
    )
    return path


@pytest.fixture
def strange(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    folder.mkdir()
    for number, name in enumerate(NAMES):
        log(Path(os.fsdecode(os.fsencode(folder) + b"/" + name)), f"trace{number:02}")
    return folder


def test_each_file_is_read_once_whatever_its_name(strange: Path) -> None:
    session = Session([strange], diagnose=False)
    session.load()
    try:
        rows = session.sql(
            "select trace_id, count(*), any_value(file) from steps group by all order by 1"
        ).rows
        assert [row[:2] for row in rows] == [(f"trace{number:02}", 1) for number in range(len(NAMES))]
        assert session.damage() == ()
    finally:
        session.close()


def test_no_command_sends_a_code_in_a_name_to_the_terminal(
    strange: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    escape = str(strange / os.fsdecode(NAMES[1]))
    Path(escape).write_bytes(b"{")
    for words in (["analyze", str(strange)], ["analyze", escape], ["show", "trace00", escape], ["audit", escape], ["sql", escape, "select 1 from"],
                  ["analyze", escape + "x"], ["show", "\x1b[31m", str(strange)], ["plan", "\x1b[31m", "--store", escape], ["ls", "--store", escape + "y"],
                  ["analyze", escape, "--reader", "\x1b[31m"], ["convert", escape, escape]):  # fmt: skip
        code = main(words)
        said = "".join(capsys.readouterr())
        assert code in (0, 2, 3, 4), words
        assert not {letter for letter in said if letter in "\x1b\x07\u202e\x9b"}, words


def test_what_is_no_file_in_a_folder_is_passed_over(tmp_path: Path) -> None:
    folder = tmp_path / "f"
    folder.mkdir()
    log(folder / "log.jsonl", "t")
    os.mkfifo(folder / "pipe.jsonl")
    (folder / "loop").symlink_to(folder)
    (folder / "gone.jsonl").symlink_to(folder / "nowhere")
    (folder / "self.jsonl").symlink_to(folder / "self.jsonl")
    (folder / "zero.jsonl").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.path.relpath(folder / "s.jsonl"))
        for given in (folder, str(folder / "*.jsonl")):
            assert [file.path.name for file in files.find([given], tmp_path)] == ["log.jsonl"]


def test_a_device_is_refused_and_a_pipe_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", "/dev/zero"]) == 4
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    data = log(tmp_path / "log.jsonl", "t").read_bytes()
    writer = threading.Thread(target=lambda: pipe.write_bytes(data))
    writer.start()
    assert main(["sql", str(pipe), "select count(*) as n from steps", "--format", "jsonl"]) == 0
    writer.join()
    assert capsys.readouterr().out == '{"n":1}\n'


@pytest.mark.parametrize("made_by", ["a link", "open to others", "another user"])
def test_an_index_that_another_may_have_written_is_not_opened(tmp_path: Path, made_by: str) -> None:
    path = log(tmp_path / "log.jsonl", "t")
    assert main(["sql", str(path), "select count(*) from steps"]) == 0
    import duckdb

    place = index.path_of(path)
    with duckdb.connect(str(tmp_path / "other")) as con:
        con.execute(
            "create view about as select 'read' as shape, content as columns from read_text('/etc/hostname')"
        )
        con.execute("checkpoint")
    if made_by == "a link":
        place.symlink_to(tmp_path / "other")
    else:
        shutil.copy(tmp_path / "other", place)
        place.chmod(0o666 if made_by == "open to others" else 0o600)
    if made_by == "another user":
        if os.geteuid() != 0:
            pytest.skip("only root can give a file to another user")
        os.chown(place, 12345, 12345)
    assert not index._is_ours(place)
    assert index.columns_before(path) == ()


@pytest.mark.parametrize(
    "words",
    [["analyze", "IN", "--output", "OUT"], ["convert", "IN", "OUT"], ["convert", "IN", "OUT.parquet"]],
)
def test_what_holds_the_content_of_a_log_is_for_its_user_alone(tmp_path: Path, words: list[str]) -> None:
    names = {
        "IN": str(log(tmp_path / "log.jsonl", "t")),
        "OUT": str(tmp_path / "out.jsonl"),
        "OUT.parquet": str(tmp_path / "out.parquet"),
    }
    before = os.umask(0)
    try:
        assert main([names.get(word, word) for word in words]) == 0
    finally:
        os.umask(before)
    (made,) = [path for path in tmp_path.iterdir() if path.name.startswith("out")]
    assert oct(made.stat().st_mode & 0o777) == oct(0o600)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_store_and_its_side_files_are_for_their_user_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        store = open_store(tmp_path / "home" / "state.db")
        store.tasks()
        modes = {path.name: oct(path.stat().st_mode & 0o077) for path in (tmp_path / "home").rglob("*")}
        store.close()
    finally:
        os.umask(before)
    assert "state.db-wal" in modes
    assert set(modes.values()) == {"0o0"}


URLS = ("postgresql://u:geheim@127.0.0.1:1/x?connect_timeout=1", "postgresql//u:geheim@h/x", "postgresql://u:geheim@h:port/x", "postgresql://u:ge%zzheim@h/x",
        "mysql://u:geheim@h/x", "mysql://u:ge/he@im@h/x", "mysql://h/x?password=geheim", "host=h password=geheim")  # fmt: skip


@pytest.mark.parametrize("url", URLS)
def test_the_password_of_a_store_is_never_shown(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("ls", "doctor"):
        assert main([command, "--store", url]) == 4 or command == "doctor"
        assert "heim" not in "".join(capsys.readouterr())


def test_what_is_shown_of_a_url_still_says_where() -> None:
    assert shown_url("mysql://u:ge/he@im@h:5/x") == "mysql://***@h:5/x"
    assert shown_url("sqlite:/a/b.db") == "sqlite:/a/b.db"
