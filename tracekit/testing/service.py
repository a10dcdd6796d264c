"""
The other end of `loopback.py`: start a service in its own process, set its faults, read what it was asked.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from types import TracebackType
from typing import Any, Self
from urllib.request import Request, urlopen

from tracekit.errors import TracekitError
from tracekit.testing.loopback import Fault


class Service:
    """A service process; `with World(...) as world:` starts and ends it."""

    module = ""
    """Which module to run with `python -m`."""

    def __init__(self, *arguments: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", self.module, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            # Away from the terminal's Ctrl-C: the parent ends it, after it has read the list.
            start_new_session=True,
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise TracekitError(
                "testing.service", f"{self.module} did not start, exit code {self._process.wait()}"
            )
        self.url: str = json.loads(line)["url"]
        """Such as `http://127.0.0.1:49152`."""

    @property
    def pid(self) -> int:
        """Process id, for a test that kills the service itself."""
        return self._process.pid

    def misbehave(self, *faults: Fault) -> None:
        """Put *faults* in force in place of those before; none: behave well from now on."""
        call(f"{self.url}/_/faults", method="PUT", body=[asdict(fault) for fault in faults])

    def requests(self, request: str = "") -> list[dict[str, Any]]:
        """What was asked so far, in order; only those that begin with *request*, such as `POST /refunds`."""
        rows: list[dict[str, Any]] = call(f"{self.url}/_/requests")
        return [row for row in rows if row["request"].startswith(request)]

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def call(
    url: str,
    *,
    method: str = "GET",
    body: Any = None,
    headers: Sequence[tuple[str, str]] = (),
    timeout_s: float = 30,
) -> Any:
    """Decoded JSON that *url* answers; urllib's own errors pass through."""
    data = None if body is None else json.dumps(body).encode()
    request = Request(url, data, {"Content-Type": "application/json", **dict(headers)}, method=method)
    with urlopen(request, timeout=timeout_s) as answer:
        return json.load(answer)
