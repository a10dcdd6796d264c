"""Who may speak to the receiver, how many at a time, and for how long."""

from __future__ import annotations

import contextlib
import hmac
import ipaddress
import socket
import threading
import time
from urllib.parse import urlsplit

MOST_CONNECTIONS = 128
"""Each has a thread; more are told to come again."""
REQUEST_S = 120.0
"""Longest time from the first byte of a request to its last one."""
SMALL_BODY_BYTES = 1 << 20
LARGE_AT_ONCE = 8
"""Bodies over `SMALL_BODY_BYTES`, or of unknown length, that are read at the same time."""


class Gate:
    """The connections of a receiver; safe to call from many threads."""

    def __init__(self, *, most: int = MOST_CONNECTIONS, request_s: float = REQUEST_S) -> None:
        self._most, self._request_s = most, request_s
        self._began_s: dict[socket.socket, float | None] = {}
        self._lock = threading.Lock()
        self.large = threading.BoundedSemaphore(LARGE_AT_ONCE)

    def enter(self, connection: socket.socket) -> bool:
        """Whether there is room for *connection*."""
        with self._lock:
            if len(self._began_s) >= self._most:
                return False
            self._began_s[connection] = None
            return True

    def leave(self, connection: socket.socket) -> None:
        """Forget *connection*."""
        with self._lock:
            self._began_s.pop(connection, None)

    def timed(self, connection: socket.socket, *, reading: bool) -> None:
        """Say that a request began to come in on *connection*, or that all of it is here."""
        with self._lock:
            if connection in self._began_s:
                self._began_s[connection] = time.monotonic() if reading else None

    def end_late(self) -> None:
        """End the connections whose request has been coming in for too long."""
        latest_s = time.monotonic() - self._request_s
        with self._lock:
            late = [
                each for each, began_s in self._began_s.items() if began_s is not None and began_s < latest_s
            ]
        for connection in late:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


def is_loopback(host: str) -> bool:
    """Whether *host*, a name or an address, is this machine and no other can reach it."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def is_foreign_page(origin: str | None) -> bool:
    """Whether a request was made by a web page that does not come from this machine; every browser says so."""
    if origin is None:
        return False
    try:
        return not is_loopback(urlsplit(origin).hostname or "")
    except ValueError:
        return True


def knows(token: str, authorization: str | None) -> bool:
    """Whether *authorization* is `Bearer` with *token*; takes the same time for every wrong one of a length."""
    return hmac.compare_digest((authorization or "").encode("utf-8", "replace"), f"Bearer {token}".encode())
