"""
A small HTTP service on loopback that can misbehave on request, in its own process; standard library only.

`world.py` and `model_server.py` are built on it. A service is an `App` (request in, answer out); what is here
gives it a port, the list of what it was asked, and faults: before the work (nothing happened) or after it
(it happened and the caller does not know).

Every service also answers `GET /_/health`, `GET /_/requests`, `GET /_/faults` and `PUT /_/faults` (a JSON list of
`Fault` fields, in place of the ones before).
"""

from __future__ import annotations

import fnmatch
import json
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol
from urllib.parse import parse_qsl, urlsplit


@dataclass(frozen=True, slots=True)
class Fault:
    """One way to misbehave, for the requests that it matches."""

    request: str
    """Method and path, with `*` for anything: `POST /refunds`, `GET /orders/*`."""
    do: str
    """`delay`, `answer` (with `status` and `body`), `drop` (close, no answer) or `cut` (half an answer)."""
    when: str = "before"
    """`before` the work: it does not happen (but after a delay). `after`: it happened, the caller is not told."""
    seconds: float = 0.0
    """For `delay`."""
    status: int = 500
    body: Any = None
    """JSON to answer with; `{"error": ...}` by default."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Added to the answer, such as `{"Retry-After": "2"}` beside status 429."""
    skip: int = 0
    """Matching requests that are served well first."""
    times: int = 1
    """How many requests it hits; -1 for all."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a service was asked."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    """Names in lower case."""
    body: Any
    """Decoded JSON; null when there was none."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a service says; *events* make it a stream of server-sent events instead of one JSON body."""

    body: Any = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    events: Iterable[str] | None = None
    """Data of each event, in order."""


class App(Protocol):
    """The service itself: called from many threads at once."""

    def answer(self, request: Request) -> Answer:
        """Do the work and say the answer."""


class FaultBook:
    """The faults in force, each with the number of requests that it has seen; safe to use from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rows: list[tuple[Fault, list[int]]] = []

    def put(self, faults: Iterable[Fault]) -> None:
        """Put *faults* in place of all that are in force, counted from zero."""
        with self._lock:
            self._rows = [(fault, [0]) for fault in faults]

    def rows(self) -> list[dict[str, Any]]:
        """Faults with the number of requests that each has matched so far."""
        with self._lock:
            return [{**asdict(fault), "matched": seen[0]} for fault, seen in self._rows]

    def take(self, request: str) -> Fault | None:
        """The fault that hits this request, if any; the first that matches counts it."""
        with self._lock:
            for fault, seen in self._rows:
                if fnmatch.fnmatchcase(request, fault.request):
                    seen[0] += 1
                    hit = seen[0] - fault.skip
                    if hit > 0 and (fault.times < 0 or hit <= fault.times):
                        return fault
        return None


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, app: App, port: int) -> None:
        self.app = app
        self.faults = FaultBook()
        self.seen: list[dict[str, Any]] = []
        super().__init__(("127.0.0.1", port), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        # A caller that was killed leaves a broken pipe: the very thing these services are for.
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Headers and body leave in one packet; apart they cost 40 ms of delayed acknowledgement.
    wbufsize = 65536
    disable_nagle_algorithm = True
    server: _Server

    def do_GET(self) -> None:
        self._serve()

    do_POST = do_PUT = do_DELETE = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: `GET /_/requests` is the list of what was asked."""

    def _serve(self) -> None:
        request = self._read()
        if request.path.startswith("/_/"):
            self._send(self._control(request))
            return
        name = f"{request.method} {request.path}"
        self.server.seen.append({"request": name, "query": dict(request.query), "body": request.body})
        fault = self.server.faults.take(name)
        if fault is not None and fault.when == "before":
            if fault.do != "delay":
                self._misbehave(fault, Answer())
                return
            time.sleep(fault.seconds)
        answer = self.server.app.answer(request)
        if fault is not None and fault.when == "after":
            self._misbehave(fault, answer)
        else:
            self._send(answer)

    def _read(self) -> Request:
        parts = urlsplit(self.path)
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        return Request(
            self.command,
            parts.path,
            dict(parse_qsl(parts.query)),
            {name.lower(): value for name, value in self.headers.items()},
            json.loads(data) if data else None,
        )

    def _control(self, request: Request) -> Answer:
        if request.path == "/_/health":
            return Answer({"ok": True})
        if request.path == "/_/requests":
            return Answer(list(self.server.seen))
        if request.path == "/_/faults":
            if request.method == "PUT":
                try:
                    self.server.faults.put([Fault(**row) for row in request.body])
                except TypeError as error:
                    return Answer({"error": f"expected a list of faults: {error}"}, status=400)
            return Answer(self.server.faults.rows())
        return Answer({"error": f"no such control: {request.path}"}, status=404)

    def _misbehave(self, fault: Fault, answer: Answer) -> None:
        match fault.do:
            case "delay":
                time.sleep(fault.seconds)
                self._send(answer)
            case "answer":
                body = {"error": "told to fail"} if fault.body is None else fault.body
                self._send(Answer(body, fault.status, fault.headers))
            case "cut":
                self._send(answer, cut=True)
            case _:
                self.close_connection = True

    def _send(self, answer: Answer, *, cut: bool = False) -> None:
        self.close_connection = self.close_connection or cut
        if answer.events is None:
            self._send_json(answer, cut=cut)
        else:
            self._send_events(answer, list(answer.events), cut=cut)

    def _send_json(self, answer: Answer, *, cut: bool) -> None:
        data = json.dumps(answer.body, ensure_ascii=False).encode()
        self._send_head(answer, {"Content-Type": "application/json", "Content-Length": str(len(data))})
        self.wfile.write(data[: len(data) // 2] if cut else data)
        self.wfile.flush()

    def _send_events(self, answer: Answer, events: list[str], *, cut: bool) -> None:
        self._send_head(answer, {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"})
        for event in events[: len(events) // 2] if cut else events:
            data = f"data: {event}\n\n".encode()
            self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
            self.wfile.flush()
        if not cut:
            self.wfile.write(b"0\r\n\r\n")
            self.wfile.flush()

    def _send_head(self, answer: Answer, headers: Mapping[str, str]) -> None:
        self.send_response(answer.status)
        for name, value in {**headers, **answer.headers}.items():
            self.send_header(name, value)
        self.end_headers()


def serve(app: App, *, port: int = 0) -> None:
    """
    Serve *app* on 127.0.0.1 until standard input closes; prints `{"url": ...}` as its first line.

    The parent holds the other end of standard input, so that no service outlives a parent that was killed.
    """
    server = _Server(app, port)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(json.dumps({"url": f"http://127.0.0.1:{server.server_address[1]}"}), flush=True)
    with suppress(KeyboardInterrupt):
        sys.stdin.read()
    server.shutdown()
