"""The explorer in a browser: the same app behind a token, spoken to as a browser speaks to it."""

from __future__ import annotations

import asyncio
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import httpx
import pytest

from tests.tui.killed import AGENT, environment, killed_agent, moved
from tracekit.store import open_store


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    killed_agent(tmp_path, at="after_dispatch#4")
    command = [sys.executable, "-m", "tracekit.cli", "tui", str(tmp_path), "--app", str(AGENT), "--web"]
    server = subprocess.Popen(command, env=environment(tmp_path), stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    found = None
    while found is None:
        line = server.stderr.readline()
        assert line, "the server ended before it said its address"
        found = re.search(r"http://\S+", line)
    yield found[0]
    server.send_signal(signal.SIGINT)
    server.wait(10)
    server.stderr.close()


def test_nothing_is_given_without_the_token(address: str) -> None:
    base = address.partition("/?")[0]

    assert httpx.get(base).status_code == 403
    assert httpx.get(f"{base}/?token=wrong").status_code == 403
    assert httpx.get(f"{base}/ws").status_code == 403
    assert httpx.get(address).status_code == 200


def test_the_page_asks_no_other_machine_for_anything(address: str) -> None:
    base = address.partition("/?")[0]
    answer = httpx.get(address)

    named = set(re.findall(r"(?:https?:|ws:)?//[^\s\"'<>/]+", answer.text))
    assert named <= {base, base.replace("http", "ws", 1)}
    assert "default-src 'self'" in answer.headers["Content-Security-Policy"]


def test_a_page_of_another_site_is_refused_even_with_the_token(address: str) -> None:
    assert httpx.get(address, headers={"Origin": "http://evil.example"}).status_code == 403
    assert httpx.get(address, headers={"Host": "evil.example"}).status_code == 403


def socket_of(address: str) -> str:
    """Where the page of *address* speaks to its app."""
    base, _, token = address.partition("/?token=")
    return f"{base.replace('http', 'ws', 1)}/ws?width=100&height=30&token={token}"


async def test_keys_over_the_socket_walk_from_the_list_to_the_recovery(address: str) -> None:
    async with aiohttp.ClientSession() as session, session.ws_connect(socket_of(address)) as socket:
        await _until(socket, "payment.refund")
        await _walk(socket, "\r", "received", "r", "RECOMMENDED")


async def test_two_tabs_are_two_explorers(address: str) -> None:
    async def walk(*keys_and_words: str) -> None:
        async with aiohttp.ClientSession() as session, session.ws_connect(socket_of(address)) as socket:
            await _until(socket, "process.killed")
            await _walk(socket, *keys_and_words)

    await asyncio.gather(walk("\r", "received", "r", "RECOMMENDED"), walk("a", "GROUPS"))


async def test_a_page_closed_in_the_middle_of_a_recovery_leaves_it_running(
    address: str, tmp_path: Path
) -> None:
    async with aiohttp.ClientSession() as session, session.ws_connect(socket_of(address)) as socket:
        await _until(socket, "process.killed")
        await _walk(socket, "r", "RECOMMENDED", "r", "this will be done", "\r", "recovery runs as pid")

    store = open_store(f"sqlite:{tmp_path / 'state.db'}")
    async with asyncio.timeout(60):
        while (state := store.load("ticket-77")) is None or state.task.status != "done":
            await asyncio.sleep(0.1)
    store.close()
    assert moved(tmp_path) == 1


async def _walk(socket: aiohttp.ClientWebSocketResponse, *keys_and_words: str) -> None:
    """Press each key and wait for the words that it leads to."""
    for key, words in zip(keys_and_words[::2], keys_and_words[1::2], strict=True):
        await socket.send_json(["stdin", key])
        await _until(socket, words)


async def _until(socket: aiohttp.ClientWebSocketResponse, words: str) -> None:
    """Return when the screen has drawn *words*."""
    seen = ""
    async with asyncio.timeout(60):
        while words not in seen:
            message = await socket.receive()
            assert message.type in (aiohttp.WSMsgType.BINARY, aiohttp.WSMsgType.TEXT), message
            data = message.data if isinstance(message.data, bytes) else message.data.encode()
            seen += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", data.decode("utf-8", "replace"))
