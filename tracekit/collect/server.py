"""The OTLP/HTTP receiver: `POST /v1/traces` is written, `/v1/logs` and `/v1/metrics` are accepted and counted."""

from __future__ import annotations

import contextlib
import logging
import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tracekit.collect import gate, otlp_json, otlp_proto
from tracekit.collect.answers import JSON, PROTOBUF, Reply, accepted, refused
from tracekit.collect.body import LIMIT_BYTES, TooLarge, UnknownEncoding, read_packed, unpack
from tracekit.collect.inlet import Inlet
from tracekit.collect.received import Undecodable
from tracekit.errors import TracekitError

_log = logging.getLogger("tracekit")

IDLE_S = 120
"""A kept connection that says nothing for so long is closed."""
AT_ONCE = 4
"""Bodies that are unpacked and decoded at the same time: each may take several times the limit of memory."""
LARGE_BYTES = 8 << 20
"""Of bodies that unpack to more than this, one at a time is decoded."""
LINGER_S = 2
"""Longest silence of a client that was refused before the connection is closed on it."""
WAIT_S = 20
"""Longest wait for a place among them; then the client is told to come again."""

_NO_ROOM = (
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 10\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
)
_PATHS = ("/v1/traces", "/v1/logs", "/v1/metrics")


class Collector(ThreadingHTTPServer):
    """Serves until `shutdown`; its address is `server_address`."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(
        self,
        inlet: Inlet,
        host: str,
        port: int,
        *,
        limit_bytes: int = LIMIT_BYTES,
        token: str | None = None,
        request_s: float = gate.REQUEST_S,
    ) -> None:
        """*token* is what each client has to send as `Authorization: Bearer TOKEN`; None lets all of them in."""
        self.inlet = inlet
        self.limit_bytes = limit_bytes
        self.token = token
        self.gate = gate.Gate(request_s=request_s)
        self.alone = threading.Lock()
        self.places = threading.BoundedSemaphore(AT_ONCE)
        super().__init__((host, port), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Give the connection a thread, while there is room."""
        if self.gate.enter(request):
            super().process_request(request, client_address)
            return
        with contextlib.suppress(OSError):
            request.sendall(_NO_ROOM)
        self.shutdown_request(request)

    def shutdown_request(self, request: Any) -> None:
        """Close the connection, which makes room for another one."""
        self.gate.leave(request)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """Twice a second: end those who send a byte now and then, and never a request."""
        self.gate.end_late()

    def handle_error(self, request: Any, client_address: Any) -> None:
        # a client that leaves in the middle is no trouble of ours
        if not isinstance(sys.exc_info()[1], ConnectionError | TimeoutError):
            _log.warning("tracekit collect: a request from %s failed", client_address, exc_info=True)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # connections are kept
    timeout = IDLE_S
    wbufsize = 65536  # head and body leave in one packet
    disable_nagle_algorithm = True
    server: Collector

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing for each request."""

    def handle_one_request(self) -> None:
        """Wait for a request, then take it, within its time."""
        try:
            waiting = self.rfile.peek(1)  # type: ignore[attr-defined]  # it is a BufferedReader
        except TimeoutError:
            waiting = b""
        if not waiting:
            self.close_connection = True
            return
        self.server.gate.timed(self.connection, reading=True)
        try:
            super().handle_one_request()
        finally:
            self.server.gate.timed(self.connection, reading=False)

    def do_GET(self) -> None:
        known = self.path.partition("?")[0] in _PATHS
        status, text = (
            (405, "expected POST") if known else (404, f"expected POST to one of {', '.join(_PATHS)}")
        )
        self._send(refused(JSON, status, text))

    do_PUT = do_DELETE = do_OPTIONS = do_PATCH = do_GET

    def do_POST(self) -> None:
        content_type = (self.headers.get("Content-Type") or JSON).partition(";")[0].strip().lower()
        path = self.path.partition("?")[0]
        refusal = self._not_let_in(content_type) or _refusal(path, content_type)
        if refusal is not None:
            self._send(refusal, close=True)
            return
        self.wfile.flush()  # the `100 Continue` that the client may wait for
        try:
            packed = self._read()
        except (TooLarge, Undecodable) as error:
            self._send(_told(error, content_type), close=True)
            return
        self.server.gate.timed(self.connection, reading=False)
        if packed is None:
            self._send(refused(content_type, 503, "the receiver is busy"), close=True)
            return
        self._send(self._worked(path, content_type, packed))

    def _not_let_in(self, content_type: str) -> Reply | None:
        if gate.is_foreign_page(self.headers.get("Origin")):
            return refused(content_type, 403, "requests of web pages are refused")
        if self.server.token is not None and not gate.knows(
            self.server.token, self.headers.get("Authorization")
        ):
            return refused(
                content_type,
                401,
                "expected the header Authorization: Bearer TOKEN, as it was told at the start",
            )
        return None

    def _read(self) -> bytes | None:
        """The body as it was sent; None where too many large ones come in at this moment."""
        length = self.headers.get("Content-Length") or "0"
        chunked = "Transfer-Encoding" in self.headers
        if not chunked and len(length) < 8 and length.isdecimal() and int(length) <= gate.SMALL_BODY_BYTES:
            return read_packed(self.rfile, self.headers, self.server.limit_bytes)
        if not self.server.gate.large.acquire(timeout=WAIT_S):
            return None
        try:
            return read_packed(self.rfile, self.headers, self.server.limit_bytes)
        finally:
            self.server.gate.large.release()

    def _worked(self, path: str, content_type: str, packed: bytes) -> Reply:
        """The answer, when there is a place to unpack and decode; a client that sends slowly takes none."""
        server = self.server
        if not server.places.acquire(timeout=WAIT_S):
            return refused(content_type, 503, "the receiver is busy")
        try:
            body = unpack(packed, self.headers.get("Content-Encoding"), server.limit_bytes)
            with server.alone if len(body) > LARGE_BYTES else contextlib.nullcontext():
                return answer(server.inlet, path, content_type, body)
        except (TooLarge, UnknownEncoding, Undecodable) as error:
            return _told(error, content_type)
        finally:
            server.places.release()

    def _send(self, reply: Reply, *, close: bool = False) -> None:
        self.close_connection = self.close_connection or close or self.command != "POST"
        self.send_response(reply.status)
        headers = {
            "Content-Type": reply.content_type,
            "Content-Length": str(len(reply.body)),
            **reply.headers,
        }
        if self.close_connection:
            headers["Connection"] = "close"
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(reply.body)
        self.wfile.flush()
        if close:
            self._linger()

    def _linger(self) -> None:
        """Take what the client still sends: a connection closed over unread bytes may take the answer with it."""
        self.connection.shutdown(socket.SHUT_WR)
        self.connection.settimeout(LINGER_S)
        left_bytes = 4 * self.server.limit_bytes
        while left_bytes > 0 and (part := self.rfile.read1(1 << 16)):
            left_bytes -= len(part)


def _refusal(path: str, content_type: str) -> Reply | None:
    """What is wrong with a request before its body is read; None when nothing is."""
    if path not in _PATHS:
        return refused(content_type, 404, f"expected one of {', '.join(_PATHS)}, got {path[:80]!r}")
    if content_type not in (JSON, PROTOBUF):
        return refused(
            content_type, 415, f"expected Content-Type {JSON} or {PROTOBUF}, got {content_type[:80]!r}"
        )
    return None


def _told(error: Exception, content_type: str) -> Reply:
    """A body that can't be taken, as the client is told it."""
    status = 413 if isinstance(error, TooLarge) else 415 if isinstance(error, UnknownEncoding) else 400
    return refused(content_type, status, str(error))


def answer(inlet: Inlet, path: str, content_type: str, body: bytes) -> Reply:
    """Do what the request asks, and say how it went."""
    try:
        if path != "/v1/traces":
            return _counted(inlet, path, content_type, body)
        found = (otlp_proto if content_type == PROTOBUF else otlp_json).traces(body)
        for why in inlet.take(found.spans):
            found.reject(why)
    except Undecodable as error:
        inlet.count("undecodable")
        return refused(content_type, 400, str(error))
    except TracekitError as error:
        return refused(content_type, 415, str(error))
    except OSError as error:
        _log.warning("tracekit collect can't write its log (%s); clients are told to send again", error)
        return refused(content_type, 503, f"the log can't be written: {error.strerror or error}")
    except Exception as error:
        # Whatever it was, this body brought it: the client must not send it again.
        _log.warning("tracekit collect: a body could not be read", exc_info=True)
        inlet.count("undecodable")
        return refused(content_type, 400, f"the body could not be read: {type(error).__name__}")
    inlet.count("rejected", found.rejected)
    return accepted(content_type, rejected=found.rejected, why=found.why)


def _counted(inlet: Inlet, path: str, content_type: str, body: bytes) -> Reply:
    """Logs and metrics hold no steps: taken, so that exporters stay quiet, and counted."""
    is_proto = content_type == PROTOBUF
    if path == "/v1/logs":
        keys = ("resourceLogs", "scopeLogs", "logRecords")
        inlet.count("log_records", otlp_proto.count_logs(body) if is_proto else otlp_json.count(body, *keys))
    else:
        keys = ("resourceMetrics", "scopeMetrics", "metrics")
        inlet.count("metrics", otlp_proto.count_metrics(body) if is_proto else otlp_json.count(body, *keys))
    return accepted(content_type)
