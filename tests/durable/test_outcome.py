"""Real exceptions of real clients, made by real requests on loopback, read as what became of the request."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import openai
import pytest

from tracekit import clock
from tracekit.errors import NotExecuted, OutcomeUnknown, Rejected
from tracekit.model import Dispatch
from tracekit.outcome import classify, retry_after_s
from tracekit.testing import SettableClock


class Handler(BaseHTTPRequestHandler):
    """Answers with the status in the path; `/hang` never, `/cut` with nothing."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        first = self.path.split("/")[1]
        if first == "hang":
            self.server.gate.wait(10)  # type: ignore[attr-defined]
            return
        if first == "cut":
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        self.send_response(int(first))
        if first in ("429", "503"):
            self.send_header("Retry-After", "7")
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *args: Any) -> None:
        return


@pytest.fixture(scope="module")
def base() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.gate = threading.Event()  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.gate.set()  # type: ignore[attr-defined]
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def refused() -> str:
    with contextlib.closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"


def by_httpx(url: str) -> None:
    httpx.post(url, json={}, timeout=0.2).raise_for_status()


def by_urllib(url: str) -> None:
    urllib.request.urlopen(urllib.request.Request(url, b"{}", method="POST"), timeout=0.2).close()


def by_openai(url: str) -> None:
    client = openai.OpenAI(api_key="none", base_url=url, timeout=0.2, max_retries=0)
    client.chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}])


CLIENTS = [by_httpx, by_urllib, by_openai]


def raised(client: Any, url: str) -> Exception:
    with pytest.raises(Exception) as caught:  # noqa: PT011  whatever the client raises is the input
        client(url)
    return caught.value


@pytest.mark.parametrize("client", CLIENTS)
def test_a_refused_connection_was_never_sent(client: Any, refused: str) -> None:
    found = classify(raised(client, refused), is_effect=True)

    assert (found.dispatch, found.is_unknown, found.is_transient) == (Dispatch.NOT_SENT, False, True)


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("path", ["hang", "cut"])
def test_no_answer_is_unknown(client: Any, base: str, path: str) -> None:
    found = classify(raised(client, f"{base}/{path}"), is_effect=True)

    assert (found.dispatch, found.is_unknown) == (Dispatch.NO_ANSWER, True)
    assert found.failure_class == "timeout.no_answer"


@pytest.mark.parametrize("client", CLIENTS)
def test_a_read_whose_connection_broke_found_no_service(client: Any, base: str) -> None:
    found = classify(raised(client, f"{base}/cut"), is_effect=False)

    assert (found.failure_class, found.is_transient) == ("timeout.unavailable", True)


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(
    ("status", "failure_class", "unknown", "transient"),
    [
        (400, "tool.rejected", False, False),
        (403, "tool.permission", False, False),
        (404, "tool.not_found", False, False),
        (422, "parameter.wrong_value", False, False),
        (429, "timeout.rate_limited", False, True),
        (500, "timeout.unavailable", True, True),
        (503, "timeout.unavailable", False, True),
        (504, "timeout.unavailable", True, True),
    ],
)
def test_a_status_says_what_the_service_did(
    client: Any, base: str, status: int, failure_class: str, unknown: bool, transient: bool
) -> None:
    found = classify(raised(client, f"{base}/{status}"), is_effect=True)

    assert (found.failure_class, found.is_unknown, found.is_transient) == (failure_class, unknown, transient)
    assert found.retry_after_s == (7.0 if status in (429, 503) else None)


def test_a_tool_may_say_it_itself() -> None:
    said = [classify(error, is_effect=True) for error in (NotExecuted(), Rejected("no"), OutcomeUnknown())]

    assert [each.dispatch for each in said] == [Dispatch.NOT_SENT, Dispatch.REJECTED, Dispatch.NO_ANSWER]


def test_an_unreadable_exception_is_unknown_for_an_effect_and_an_error_for_a_read() -> None:
    assert classify(ZeroDivisionError(), is_effect=True).is_unknown
    assert not classify(ZeroDivisionError(), is_effect=False).is_unknown


@pytest.mark.parametrize(
    ("told", "wait_s"),
    [
        ("7", 7.0),
        ("Mon, 30 Nov 2026 00:00:30 GMT", 30.0),
        ("Mon, 30 Nov 2026 00:00:30 -0000", 30.0),
        ("Sun, 29 Nov 2026 00:00:30 GMT", 0.0),
        ("-3", 0.0),
        ("inf", None),
        ("nan", None),
        ("soon", None),
    ],
)
def test_a_wait_that_a_server_asks_for_is_read_in_every_zone(
    told: str, wait_s: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    request = httpx.Request("POST", "http://localhost/")
    error = httpx.HTTPStatusError(
        "busy", request=request, response=httpx.Response(429, headers={"Retry-After": told}, request=request)
    )
    try:
        with clock.use(SettableClock(1_795_996_800_000_000_000)):
            assert retry_after_s(error) == wait_s
    finally:
        monkeypatch.undo()
        time.tzset()
