"""What is sealed does not stand in the file, comes back with the key, and is refused without it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.store.samples import ARGUMENTS, blob, review, started, step
from tracekit.errors import TracekitError
from tracekit.store import open_store
from tracekit.store.contract import AppendEvent, InsertReview, PutStep, Store
from tracekit.store.sealed import Bodies

SECRET = b"sk-live-0123456789"


class Xor:
    """Not encryption: enough to see what passes through the sealer, with a check of the key."""

    def __init__(self, key: int) -> None:
        self._key = key

    def seal(self, data: bytes, /) -> bytes:
        return bytes([self._key]) + bytes(byte ^ self._key for byte in data)

    def unseal(self, data: bytes, /) -> bytes:
        if data[0] != self._key:
            raise ValueError("another key")
        return bytes(byte ^ self._key for byte in data[1:])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.db"


def bytes_on_disk(path: Path) -> bytes:
    return b"".join(each.read_bytes() for each in path.parent.iterdir() if each.is_file())


def test_a_secret_body_is_sealed_and_comes_back(path: Path) -> None:
    store = open_store(path, sealer=Xor(7))
    secret = blob(SECRET.decode(), secret=True)
    store.commit(started(store), [secret, PutStep(step(input=secret.hash))], durable=True)
    store.close()

    assert SECRET not in bytes_on_disk(path)
    assert ARGUMENTS.data in bytes_on_disk(path)
    again = open_store(path, sealer=Xor(7))
    assert again.blobs([secret.hash]) == {secret.hash: SECRET}
    again.close()


def write_texts(store: Store) -> None:
    text = SECRET.decode()
    lease = started(store, goal=f"use {text}")
    store.commit(
        lease,
        [
            AppendEvent("e", None, f'{{"k":"{text}"}}'),
            InsertReview(review(panel=f'{{"k":"{text}"}}')),
            PutStep(step(error=f'{{"message":"{text}"}}')),
            blob(text),
        ],
        durable=True,
    )


def test_everything_is_sealed_when_the_user_wants_it(path: Path) -> None:
    store = open_store(path, sealer=Xor(7), seal_all=True)
    write_texts(store)
    before = store.load("t1", with_bodies=True), store.events("t1")
    store.close()

    assert SECRET not in bytes_on_disk(path)
    again = open_store(path, sealer=Xor(7))
    assert (again.load("t1", with_bodies=True), again.events("t1")) == before
    again.close()


@pytest.mark.parametrize("read", [lambda store: store.load("t1"), lambda store: store.events("t1")])
def test_another_key_is_told_and_not_taken_for_damage(path: Path, read: Callable[[Store], object]) -> None:
    store = open_store(path, sealer=Xor(7), seal_all=True)
    write_texts(store)
    store.close()
    other = open_store(path, sealer=Xor(9))

    with pytest.raises(TracekitError, match="the key") as caught:
        read(other)
    assert caught.value.code == "store.sealed"
    other.close()


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def test_a_body_that_is_put_again_is_sealed_under_the_key_of_now(
    kind: str, path: Path, request: pytest.FixtureRequest
) -> None:
    url = str(path) if kind == "sqlite" else request.getfixturevalue("postgres_url")
    texts = [f"{SECRET.decode()} {kind} {number}" for number in range(2)]
    before, now = open_store(url, sealer=Xor(7)), open_store(url, sealer=Xor(9))
    lease = started(before)
    before.commit(lease, [blob(texts[0], secret=True), blob(texts[1])], durable=True)

    put = [blob(text, secret=True) for text in texts]
    before.release(lease)
    before.close()
    now.commit(started(now, task_id="t2"), put, durable=True)
    now.commit(started(now, task_id="t3"), [blob(texts[1])], durable=True)

    assert now.blobs([each.hash for each in put]) == {each.hash: each.data for each in put}
    now.close()
    other = open_store(url, sealer=Xor(1))
    for each in put:
        with pytest.raises(TracekitError, match="the key"):
            other.blobs([each.hash])
    other.close()


def test_a_secret_that_can_not_be_sealed_is_not_written_plain(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "tracekit.sealing", None)
    store = open_store(path)
    lease = started(store)

    with pytest.raises(TracekitError) as caught:
        store.commit(lease, [blob(SECRET.decode(), secret=True)], durable=True)
    assert caught.value.code == "store.no_sealer"
    store.close()
    assert SECRET not in bytes_on_disk(path)


@pytest.mark.parametrize("text", ["$sealed:abc", "$plain:abc", "$", ""])
def test_a_text_that_looks_sealed_comes_back_as_it_was(text: str) -> None:
    for bodies in (Bodies(), Bodies(Xor(3), seal_all=True)):
        assert bodies.read_text(bodies.write_text(text)) == text


def test_the_real_sealer_seals(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tracekit.sealing", reason="sealing is not built in")
    pytest.importorskip("cryptography", reason="the library for sealing is not installed")
    monkeypatch.setenv("TRACEKIT_KEY", "0123456789abcdef" * 4)
    store = open_store(path)
    secret = blob(SECRET.decode(), secret=True)
    store.commit(started(store), [secret], durable=True)

    assert store.blobs([secret.hash]) == {secret.hash: SECRET}
    store.close()
    assert SECRET not in bytes_on_disk(path)
