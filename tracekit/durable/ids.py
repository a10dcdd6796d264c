"""Ids that a caller gives to tasks, forks and scopes."""

from __future__ import annotations

from tracekit.errors import TracekitError

SCOPE_FUNCTION = "tracekit.durable.scope:task_scope"
"""What stands as function in the row of a scope: there is none to be run again."""


def checked_id(given: object) -> str:
    """
    *given* as the id of a task.

    An empty id is refused and not replaced: it mostly stands for a value that is missing, and a made-up id would let
    the same order be paid once for each start.
    """
    if isinstance(given, str) and given.strip():
        return given
    raise TracekitError(
        "task.bad_id",
        f"expected a text that names the task, such as 'ticket-77', got {given!r}; give one that stays the same when the "
        "same work is started again, or leave it out to have one made",
    )
