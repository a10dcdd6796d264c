"""Stands between a client and a PostgreSQL server, and cuts the line when it has passed a given text on."""

from __future__ import annotations

import contextlib
import socket
import threading


class DroppingProxy:
    """Listens on loopback; with `cut_after` set, the answer to a request that holds it is never passed back."""

    def __init__(self, server_socket: str) -> None:
        self.cut_after: bytes | None = None
        self._server_socket = server_socket
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Take no more clients."""
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._server_socket)
                threading.Thread(target=self._to_server, args=(client, server), daemon=True).start()
                threading.Thread(target=self._to_client, args=(server, client), daemon=True).start()

    def _to_server(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := client.recv(65536):
                if self.cut_after is not None and self.cut_after in data:
                    client.shutdown(socket.SHUT_RDWR)
                    client.close()
                server.sendall(data)

    def _to_client(self, server: socket.socket, client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := server.recv(65536):
                client.sendall(data)
