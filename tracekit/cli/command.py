"""What a command is, the exit codes, and the one place where errors leave the program."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum


class Exit(IntEnum):
    """Exit codes of every command."""

    CLEAN = 0
    FAILURES = 1
    """Failures matched `--fail-on`, there are secrets, or a task ended with its own exception."""
    USAGE = 2
    DAMAGE = 3
    """Read, but with damaged lines."""
    UNREADABLE = 4
    """What was named is not there or can't be read, or the request was refused: nothing was changed."""
    WAITING = 5
    """Waiting for a person."""
    INTERNAL = 70


@dataclass(frozen=True, slots=True)
class Command:
    """One sub-command: its arguments and what runs. stdout is data, stderr is talk."""

    name: str
    help: str
    configure: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


class UsageError(Exception):
    """The command line can't be served as given; shown without a trace, exit 2."""
