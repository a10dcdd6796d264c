"""Work beside the screen: one way to run something that blocks, and to come back with its answer."""

from __future__ import annotations

import asyncio
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

from textual.dom import DOMNode
from textual.message_pump import MessagePump

from tracekit.errors import TracekitError
from tracekit_tui.outside import to_file

T = TypeVar("T")


async def off_loop(work: Callable[[], T]) -> T:
    """
    What *work* returns, run in a thread of its own.

    The thread is a daemon: a person who quits does not wait until a gigabyte has been read.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()

    def settle(how: Callable[[Any], None], value: Any) -> None:
        if not answer.done():
            how(value)

    def run() -> None:
        try:
            value, how = work(), answer.set_result
        except BaseException as error:
            value, how = error, answer.set_exception  # type: ignore[assignment]
        try:
            loop.call_soon_threadsafe(settle, how, value)
        except RuntimeError:
            # The loop is closed: the person has quit, and nobody waits for the answer.
            return

    threading.Thread(target=run, daemon=True, name="tracekit-screen").start()
    return await answer


@contextmanager
def waited_for(app: object, group: str) -> Iterator[None]:
    """A block for whose end a person waits: the app knows since when, and says so when it takes long."""
    waits: dict[object, tuple[str, float]] = app.waits  # type: ignore[attr-defined]  # the explorer has it
    name = object()
    waits[name] = (group, time.monotonic())
    try:
        yield
    finally:
        del waits[name]


class Busy:
    """
    What may run work in a thread; errors of tracekit become words at the bottom, others stay errors.

    Mixed into widgets, screens and the app; no `DOMNode` itself, since Textual takes styles and bindings only from
    the first base that is one.
    """

    def in_thread(
        self, work: Callable[[], T], done: Callable[[T], None], *, group: str, exclusive: bool = True
    ) -> None:
        """Run *work* in a thread, then *done* with its answer on the screen's side; a newer one of *group* wins."""

        node = cast(MessagePump, self)

        async def both() -> None:
            try:
                with waited_for(cast(DOMNode, self).app, group):
                    value = await off_loop(work)
            except TracekitError as error:
                self.failed(error)
                return
            except OSError as error:
                # The world outside: a file that went, a disk that is full, rights that are missing.
                self.failed(
                    TracekitError("file.failed", f"{error.strerror or error}: {error.filename or ''}")
                )
                return
            except Exception as error:
                # A defect in one answer must not close the screen on a person in the middle of a recovery.
                self.unexpected(error)
                return
            if node.is_running:
                done(value)

        cast(DOMNode, self).run_worker(both, group=group, exclusive=exclusive, name=group)  # type: ignore[arg-type]  # an async function is a worker too

    def unexpected(self, error: Exception) -> None:
        """Tell the person that something of ours broke, and where its stack is written."""
        app = cast(DOMNode, self).app
        app.defects.append(error)  # type: ignore[attr-defined]  # the explorer has it
        path = to_file("".join(traceback.format_exception(error)), "defect")
        text = f"internal error, the rest goes on: {type(error).__name__}: {str(error)[:200]}; see {path}"
        app.notify(text, severity="error", markup=False, timeout=15)

    def failed(self, error: TracekitError) -> None:
        """Tell the person what went wrong."""
        cast(DOMNode, self).app.notify(f"{error} [{error.code}]", severity="error", markup=False, timeout=8)
