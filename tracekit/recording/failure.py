"""An exception as the error fields of a step."""

from __future__ import annotations

import traceback
from typing import Any

from tracekit.config import Settings
from tracekit.recording.values import Values
from tracekit.snapshot.classes import class_name

_MAX_STACK_CHARS = 20_000
"""A recursion error prints a thousand frames; its first and last lines say it all."""


class ToldError(Exception):
    """An error that came as an answer and was raised by nobody, such as a tool result with `isError`."""

    def __init__(self, error_type: str, message: str) -> None:
        super().__init__(message)
        self.error_type = error_type
        """What `error_type` is to say: the provider's own code."""


def type_of(error: BaseException) -> str:
    """The `error_type` of *error*: its class, or the code that came as an answer."""
    return error.error_type if isinstance(error, ToldError) else class_name(type(error))


def error_fields(error: BaseException, options: Settings, values: Values) -> dict[str, Any]:
    """`error_type`, `error_message`, `error_stack` of *error*, secrets marked; never raises."""
    fields: dict[str, Any] = {
        "error_type": values.label(type_of(error)),
        "error_message": values.fragment(message_of(error)),
    }
    if options.capture_stack and not isinstance(error, ToldError):
        fields["error_stack"] = values.fragment(stack_of(error))
    return fields


def message_of(error: BaseException) -> str:
    """`str(error)`, also where that fails."""
    try:
        return str(error)
    except Exception as second:
        return f"<str() of {class_name(type(error))} failed: {class_name(type(second))}>"


def stack_of(error: BaseException) -> str:
    """The traceback as Python prints it, causes included; the middle of a very long one is named, not shown."""
    try:
        text = "".join(traceback.format_exception(error))
    except Exception as second:
        return f"<traceback of {class_name(type(error))} failed: {class_name(type(second))}>"
    if len(text) <= _MAX_STACK_CHARS:
        return text
    half = _MAX_STACK_CHARS // 2
    return f"{text[:half]}\n... {len(text) - 2 * half} characters left out ...\n{text[-half:]}"
