"""Clients are watched once, whoever comes first."""

from __future__ import annotations

import threading
import time
from typing import Any

from tracekit.integrations import _wire


class Slow:
    """A client that takes its time when it is looked up, so that threads meet there."""

    def __hash__(self) -> int:
        time.sleep(0.01)
        return id(self)

    def send(self, request: Any) -> Any:
        return request


def test_threads_that_share_a_new_client_watch_it_once() -> None:
    client: Any = Slow()
    threads = [threading.Thread(target=_wire.watch_client, args=(client,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert client.send.__wrapped__.__func__ is Slow.send
