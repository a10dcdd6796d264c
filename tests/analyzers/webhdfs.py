"""A folder behind the HTTP interface of HDFS on loopback: a file system that only Spark's own client can read."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

_TOP = "/webhdfs/v1"


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Context in which *folder* is to be read at the address that it gives, `webhdfs://127.0.0.1:PORT`."""

    class Handler(_Handler):
        top = folder

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"webhdfs://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    top: Path

    def do_GET(self) -> None:
        asked = urlsplit(self.path)
        query = {name.lower(): values[0] for name, values in parse_qs(asked.query).items()}
        path = self.top / unquote(asked.path).removeprefix(_TOP).strip("/")
        operation = query.get("op", "").upper()
        if not path.exists():
            self._refuse(404, "FileNotFoundException", f"File does not exist: {path}")
        elif operation == "GETFILESTATUS":
            self._answer({"FileStatus": _status(path, "")})
        elif operation == "LISTSTATUS":
            inside = sorted(path.iterdir()) if path.is_dir() else [path]
            listed = [_status(one, one.name if path.is_dir() else "") for one in inside]
            self._answer({"FileStatuses": {"FileStatus": listed}})
        elif operation in ("GETFILEBLOCKLOCATIONS", "GET_BLOCK_LOCATIONS"):
            self._answer({"BlockLocations": {"BlockLocation": [_block(path)]}})
        elif operation == "OPEN":
            self._open(path, query)
        else:
            self._refuse(400, "UnsupportedOperationException", f"{operation} is not supported")

    def _open(self, path: Path, query: dict[str, str]) -> None:
        if "at" not in query:
            # As a name node does: the bytes are with a data node.
            host, port = self.server.server_address[:2]
            self.send_response(307)
            self.send_header("Location", f"http://{host!s}:{port}{self.path}&at=data")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        begin = int(query.get("offset", 0))
        data = path.read_bytes()[begin:]
        data = data[: int(query["length"])] if "length" in query else data
        self.send_response(200)
        self._body(data)

    def _answer(self, value: dict[str, Any]) -> None:
        # Without a content type: the client that comes with pyspark lacks what it would look at one with.
        self.send_response(200)
        self._body(json.dumps(value).encode())

    def _refuse(self, status: int, kind: str, message: str) -> None:
        told = {"exception": kind, "javaClassName": f"java.io.{kind}", "message": message}
        self.send_response(status)
        self._body(json.dumps({"RemoteException": told}).encode())

    def _body(self, data: bytes) -> None:
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def _status(path: Path, suffix: str) -> dict[str, Any]:
    size = 0 if path.is_dir() else path.stat().st_size
    return {
        "accessTime": 0, "modificationTime": 0, "blockSize": 1 << 27, "replication": 1, "length": size, "owner": "tests",
        "group": "tests", "pathSuffix": suffix, "permission": "755", "type": "DIRECTORY" if path.is_dir() else "FILE",
    }  # fmt: skip


def _block(path: Path) -> dict[str, Any]:
    return {
        "hosts": ["127.0.0.1"], "names": ["127.0.0.1:9866"], "cachedHosts": [], "topologyPaths": [], "offset": 0,
        "length": path.stat().st_size, "corrupt": False,
    }  # fmt: skip
