"""How a step ends by what leaves its block: well, with an error, or left early; the same for plain and async code."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any

from tracekit.model import StepStatus
from tracekit.recording.open_step import OpenStep
from tracekit.recording.step_lines import NOT_GIVEN


def finish_with(
    step: OpenStep, error: BaseException | None, *, output: Any = NOT_GIVEN, **fields: Any
) -> None:
    """End *step* as its block ended: well, with *error*, or left early."""
    if error is None:
        step.finish(output=output, **fields)
    elif isinstance(error, GeneratorExit):
        step.finish(StepStatus.ABANDONED, output=output, **fields)
    else:
        step.finish(StepStatus.ERROR, output=output, error=error, **fields)


class StepBlock:
    """
    A block in which *step* is current and with which it ends.

    `with StepBlock(step) as block: block.output = function()`, with `await` before the call where the function is async.

    Args:
        status_of: Says the status by the error that left the block, where `finish_with` would not know.
        fields: What else `OpenStep.finish` is to be told.
    """

    __slots__ = ("_active", "_fields", "_status_of", "_step", "error", "output")

    def __init__(
        self,
        step: OpenStep,
        *,
        status_of: Callable[[BaseException], StepStatus] | None = None,
        **fields: Any,
    ) -> None:
        self._step = step
        self._active = step.active()
        self._status_of = status_of
        self._fields = fields
        self.output: Any = NOT_GIVEN
        self.error: BaseException | None = None
        """Why the step ends, where no error leaves the block: it cleans up behind one, or was answered with one."""

    def __enter__(self) -> StepBlock:
        self._active.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, stack: TracebackType | None
    ) -> None:
        self._active.__exit__(None, None, None)
        error = error or self.error
        if error is not None and self._status_of is not None:
            self._step.finish(self._status_of(error), output=self.output, error=error, **self._fields)
        else:
            finish_with(self._step, error, output=self.output, **self._fields)
