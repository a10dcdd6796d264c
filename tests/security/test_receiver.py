"""The receiver on a network of strangers: it answers, stays within its limits, and goes on."""

from __future__ import annotations

import gzip
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tracekit import config
from tracekit.collect import gate, server
from tracekit.collect.inlet import Inlet
from tracekit.collect.server import Collector

SPAN = {
    "traceId": "ab" * 16,
    "spanId": "cd" * 8,
    "name": "s",
    "startTimeUnixNano": "5",
    "endTimeUnixNano": "9",
}
JSON = {"Content-Type": "application/json"}


def request(**fields: Any) -> bytes:
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [SPAN | fields]}]}]}).encode()


class Running:
    """A receiver in a thread of this process."""

    def __init__(self, home: Path, **options: Any) -> None:
        self.inlet = Inlet(config.configure(home=home))
        self.server = Collector(self.inlet, "127.0.0.1", 0, **options)
        self.thread = threading.Thread(
            target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )
        self.thread.start()

    def connect(self) -> socket.socket:
        return socket.create_connection(self.server.server_address[:2], timeout=60)

    def say(self, data: bytes) -> bytes:
        """All that comes back for *data*, until the receiver closes."""
        with closing(self.connect()) as connection:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: connection.recv(65536), b""))

    def post(self, body: bytes, headers: dict[str, str] = JSON, path: str = "/v1/traces") -> int:
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        text = f"POST {path} HTTP/1.1\r\nHost: here\r\n{head}Content-Length: {len(body)}\r\n\r\n"
        answer = self.say(text.encode("latin-1") + body)
        return int(answer.split(b" ")[1])


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Any]:
    made: list[Running] = []

    def start(**options: Any) -> Running:
        made.append(Running(tmp_path / "home", **options))
        return made[-1]

    yield start
    for each in made:
        each.server.shutdown()
        each.server.server_close()
        each.inlet.close()
    config.reset()


BAD_BODIES = {
    "no json": b"\xff\x00{",
    "deep": b"[" * 100_000,
    "deep inside": b'{"resourceSpans":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "a list": b"[]",
    "a group that is none": b'{"resourceSpans": {"a": 1}}',
    "a number of many digits": b'{"resourceSpans": ' + b"9" * 10_000 + b"}",
    "many items": b'{"resourceSpans": [' + b"[]," * 4_100_000 + b"[]]}",
}


@pytest.mark.parametrize("name", BAD_BODIES)
def test_a_body_that_is_no_request_is_told_so(run: Any, name: str) -> None:
    receiver = run()
    assert receiver.post(BAD_BODIES[name]) == 400
    assert receiver.post(request()) == 200


IMPOSSIBLE = [{"startTimeUnixNano": float("inf")}, {"kind": float("nan")}, {"endTimeUnixNano": "9" * 9000}, {"attributes": 7},
              {"attributes": [{"key": "a", "value": {"doubleValue": "x"}}]}]  # fmt: skip
STRANGE = [
    {"attributes": [{"key": "a", "value": {"bytesValue": "%"}}]},
    {"events": [7, {"timeUnixNano": []}]},
]


@pytest.mark.parametrize(
    ("fields", "rejected"), [*((each, 1) for each in IMPOSSIBLE), *((each, 0) for each in STRANGE)]
)
def test_a_span_with_impossible_values_takes_no_other_with_it(
    run: Any, fields: dict[str, Any], rejected: int
) -> None:
    receiver = run()
    spans = [SPAN | fields, SPAN | {"spanId": "ef" * 8}]
    body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).encode()

    assert receiver.post(body) == 200
    assert (receiver.inlet.counts["rejected"], receiver.inlet.counts["spans"]) == (rejected, 2 - rejected)


@pytest.mark.parametrize(
    "head",
    [
        b"Content-Length: " + b"9" * 5000,
        b"Content-Length: -1",
        b"Content-Length: 1e3",
        b"Transfer-Encoding: chunked\r\n\r\n-5",
        b"Transfer-Encoding: chunked\r\n\r\n" + b"f" * 2000,
        b"Transfer-Encoding: chunked\r\n\r\nzz",
    ],
)
def test_a_length_that_is_none_is_refused(run: Any, head: bytes) -> None:
    answer = run().say(b"POST /v1/traces HTTP/1.1\r\nHost: x\r\n" + head + b"\r\n\r\n")
    assert answer.split(b" ")[1] in (b"400", b"413"), answer


@pytest.mark.parametrize(
    "path",
    ["/", "/v1/traces/../../etc/passwd", "/v1/traces%00", "/v1/traces/", "/v1/tra\x1bces"],
)
def test_other_paths_are_not_there(run: Any, path: str) -> None:
    assert run().post(request(), path=path) == 404


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "\x1b"]
)
def test_what_a_form_of_a_web_page_can_send_is_refused(run: Any, kind: str) -> None:
    assert run().post(request(), {"Content-Type": kind}) == 415


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://127.0.0.1.evil.example", "http://[", "file://"]
)
def test_a_page_of_another_site_can_write_nothing_also_under_a_name_of_this_machine(
    run: Any, origin: str
) -> None:
    receiver = run()
    assert receiver.post(request(), {"Origin": origin}) == 403
    assert receiver.post(request(), JSON | {"Origin": "http://localhost:3000"}) == 200


def test_headers_without_end_are_refused(run: Any) -> None:
    receiver = run()
    many = (
        b"POST /v1/traces HTTP/1.1\r\n" + b"".join(b"X-%d: y\r\n" % number for number in range(200)) + b"\r\n"
    )
    assert receiver.say(many).split(b" ")[1] == b"431"
    assert receiver.say(b"POST /" + b"a" * 70_000).split(b" ")[1] == b"414"


def test_a_body_that_bursts_is_stopped_at_the_limit(run: Any) -> None:
    receiver = run(limit_bytes=1 << 20)
    bomb = gzip.compress(b" " * (100 << 20))
    assert len(bomb) < 1 << 20
    assert receiver.post(bomb, JSON | {"Content-Encoding": "gzip"}) == 413
    assert receiver.post(bomb, JSON | {"Content-Encoding": "br"}) == 415
    assert receiver.post(bomb[:-9], JSON | {"Content-Encoding": "gzip"}) in (400, 413)


def test_who_sends_a_byte_now_and_then_is_ended(run: Any) -> None:
    receiver = run(request_s=0.3)
    with closing(receiver.connect()) as slow, closing(receiver.connect()) as silent:
        slow.sendall(b"POST /v1/traces HTTP/1.1\r\nX-Slow: ")
        ended = False
        until = time.monotonic() + 60
        while not ended and time.monotonic() < until:
            time.sleep(0.05)
            try:
                slow.sendall(b"a")
            except OSError:
                ended = True
        assert ended
        # Who has said nothing yet only waits, as a kept connection does.
        silent.sendall(b"POST /v1/traces HTTP/1.0\r\nContent-Length: %d\r\n\r\n" % len(request()) + request())
        assert silent.recv(100).split(b" ")[1] == b"200"


def test_more_connections_than_there_is_room_for_are_told_to_come_again(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    receiver = run()
    monkeypatch.setattr(receiver.server.gate, "_most", 5)
    kept = [receiver.connect() for _ in range(5)]
    until = time.monotonic() + 60
    while len(receiver.server.gate._began_s) < 5 and time.monotonic() < until:
        time.sleep(0.01)
    with closing(receiver.connect()) as one_more:
        assert one_more.recv(100).split(b" ")[1] == b"503"
    for each in kept:
        each.close()
    while receiver.server.gate._began_s and time.monotonic() < until:
        time.sleep(0.01)
    assert receiver.post(request()) == 200


def test_while_many_large_bodies_come_in_only_small_ones_are_taken(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "WAIT_S", 0.05)
    receiver = run()
    large = request() + b" " * gate.SMALL_BODY_BYTES
    chunked = b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    for _ in range(gate.LARGE_AT_ONCE):
        assert receiver.server.gate.large.acquire(blocking=False)

    assert (receiver.post(large), receiver.post(request())) == (503, 200)
    assert receiver.say(chunked).split(b" ")[1] == b"503"
    receiver.server.gate.large.release()
    assert receiver.post(large) == 200


def test_with_a_token_nobody_else_writes(run: Any) -> None:
    receiver = run(token="right")
    assert receiver.post(request()) == 401
    assert receiver.post(request(), JSON | {"Authorization": "Bearer wrong"}) == 401
    assert receiver.post(request(), JSON | {"Authorization": "Bearer \xff"}) == 401
    assert receiver.post(request(), JSON | {"Authorization": "Bearer right"}) == 200


@pytest.mark.parametrize(("host", "is_ours"), [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("::", False), ("10.0.0.1", False), ("localhost.evil.example", False)])  # fmt: skip
def test_loopback_is_what_no_other_machine_reaches(host: str, is_ours: bool) -> None:
    assert gate.is_loopback(host) is is_ours
