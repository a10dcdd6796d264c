from __future__ import annotations

import gzip
import http.client
import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest


class Receiver:
    """`tracekit collect` in a process of its own."""

    def __init__(self, home: Path, *arguments: str, **options: Any) -> None:
        self.home = home
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tracekit", "collect", "--port", "0", "--home", str(home), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **options,
        )
        assert self.process.stderr is not None
        line = self.process.stderr.readline()
        assert "http://" in line, line + self.process.stderr.read()
        self.url = "http://" + line.split("http://")[1].split(",")[0]

    def connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=30)

    def post(
        self, path: str, body: Any, *, packed: bool = False, **headers: str
    ) -> tuple[int, dict[str, str], Any]:
        """Status, headers and decoded JSON of the answer; *body* is JSON or bytes."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        given = {"Content-Type": "application/json"} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        if packed:
            data, given["Content-Encoding"] = gzip.compress(data), "gzip"
        connection = self.connection()
        connection.request("POST", path, data, given)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        kind = answer.headers["Content-Type"]
        return answer.status, dict(answer.headers), json.loads(text) if kind == "application/json" else text

    def lines(self) -> list[dict[str, Any]]:
        return [
            json.loads(line)
            for path in sorted((self.home / "traces").glob("*.jsonl"))
            for line in path.read_bytes().splitlines()
        ]

    def steps(self) -> list[dict[str, Any]]:
        return [line for line in self.lines() if line["record"] == "step"]

    def end(self) -> dict[str, Any]:
        """Ask it to end; returns what it prints."""
        self.process.send_signal(signal.SIGTERM)
        printed, _ = self.process.communicate(timeout=20)
        assert self.process.returncode == 0
        found: dict[str, Any] = json.loads(printed)
        return found


@pytest.fixture
def receive(tmp_path: Path) -> Iterator[Callable[..., Receiver]]:
    """Starts receivers; the same home for all unless told otherwise."""
    started: list[Receiver] = []

    def start(*arguments: str, **options: Any) -> Receiver:
        started.append(Receiver(options.pop("home", tmp_path / "collected"), *arguments, **options))
        return started[-1]

    yield start
    for receiver in started:
        receiver.process.kill()
        receiver.process.communicate()


def span(number: int = 1, **fields: Any) -> dict[str, Any]:
    """A span in OTLP's JSON."""
    return {
        "traceId": "0af7651916cd43dd8448eb211c80319c",
        "spanId": f"{number:016x}",
        "name": f"span {number}",
        "kind": 1,
        "startTimeUnixNano": str(1_700_000_000_000_000_000 + number),
        "endTimeUnixNano": str(1_700_000_000_100_000_000 + number),
        **fields,
    }


def request(*spans: Any) -> dict[str, Any]:
    """An export request of one service."""
    service = {"key": "service.name", "value": {"stringValue": "shop"}}
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": [service]},
                "scopeSpans": [{"scope": {"name": "x"}, "spans": list(spans)}],
            }
        ]
    }


@pytest.fixture
def make() -> Any:
    """`span` and `request`, for tests."""

    class Make:
        pass

    made = Make()
    made.span, made.request = span, request  # type: ignore[attr-defined]
    return made
