from __future__ import annotations

import contextlib
import gzip
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tracekit import config
from tracekit.integrations import anthropic, httpx, langchain, mcp, openai, openai_agents
from tracekit.recording import setup


@dataclass
class Answer:
    """One scripted answer of the provider."""

    body: Any = None
    """JSON, or bytes as they are."""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    events: Sequence[str] | None = None
    """Blocks of a stream of server-sent events, sent one by one."""
    drop: bool = False
    """Close without an answer."""
    cut: bool = False
    """Close before the end of the stream."""
    packed: bool = False


class Provider:
    """A model provider on loopback: real sockets, scripted answers, one after the other; the last one repeats."""

    def __init__(self) -> None:
        self.script: list[Answer] = []
        self.requests: list[dict[str, Any]] = []
        provider = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: Any) -> None:
                pass

            def do_POST(self) -> None:
                data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                headers = {name.lower(): value for name, value in self.headers.items()}
                provider.requests.append(
                    {"path": self.path, "headers": headers, "body": json.loads(data) if data else None}
                )
                answer = provider.script.pop(0) if len(provider.script) > 1 else provider.script[0]
                with contextlib.suppress(ConnectionError):
                    self._answer(answer)

            do_GET = do_PUT = do_POST

            def _answer(self, answer: Answer) -> None:
                if answer.drop:
                    self.close_connection = True
                    return
                self.send_response(answer.status)
                if answer.events is not None:
                    self._stream(answer)
                    return
                data = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
                for name, value in {"Content-Type": "application/json", **answer.headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def _stream(self, answer: Answer) -> None:
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Transfer-Encoding", "chunked")
                blocks = [block.encode() for block in answer.events or ()]
                if answer.packed:
                    self.send_header("Content-Encoding", "gzip")
                    blocks = [gzip.compress(b"".join(blocks))]
                self.end_headers()
                for block in blocks:
                    self.wfile.write(b"%x\r\n%b\r\n" % (len(block), block))
                    self.wfile.flush()
                if answer.cut:
                    self.close_connection = True
                else:
                    self.wfile.write(b"0\r\n\r\n")

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def answers(self, *script: Answer) -> None:
        self.script = list(script)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def provider() -> Iterator[Provider]:
    made = Provider()
    yield made
    made.close()


@pytest.fixture
def answer() -> type[Answer]:
    return Answer


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A home in which recording is on and nothing is instrumented yet; all is taken back after the test."""
    config.reset()
    setup.init(service="test", home=tmp_path / "home")
    yield tmp_path / "home"
    for integration in (anthropic, httpx, langchain, mcp, openai, openai_agents):
        integration.uninstrument()
    setup.shutdown()
    config.reset()


def lines_of(home: Path) -> list[dict[str, Any]]:
    return [
        json.loads(line)
        for path in sorted((home / "traces").glob("*.jsonl"))
        for line in path.read_bytes().splitlines()
    ]


@pytest.fixture
def steps(home: Path) -> Callable[[], list[dict[str, Any]]]:
    """The steps in the log so far, in the order in which they began, as a reader sees them."""

    def read() -> list[dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        for line in lines_of(home):
            if line["record"] == "step":
                found[line["step_id"]] = found.get(line["step_id"], {}) | line
        return list(found.values())

    return read


@pytest.fixture
def messages_of(home: Path) -> Callable[[dict[str, Any]], list[Any]]:
    """The messages that a step names, in their order."""

    def read(step: dict[str, Any]) -> list[Any]:
        lines = lines_of(home)
        known = {line["hash"]: line["message"] for line in lines if line["record"] == "message"}
        contexts = {
            line["context"]["digest"]: line["context"]
            for line in lines
            if line["record"] == "step" and line.get("context")
        }

        def hashes(context: dict[str, Any]) -> list[str]:
            base = hashes(contexts[context["base"]])[: context["keep"]] if context["base"] else []
            return [*base, *context["hashes"]]

        return [known[name] for name in hashes(step["context"])]

    return read
