"""What the commands about tasks share: the options that say which store, and text for terminals."""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import re
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any, TextIO

import orjson

from tracekit.snapshot import readable, to_log

_LEAST_COLUMN = 24
"""Characters below which a column is too narrow to hold sentences."""

_COMMAND = re.compile(r"\b(tracekit (review|resume|plan|ls|fork)|pip (un)?install|chmod) ")


def add_store(parser: argparse.ArgumentParser, *, app: bool = False) -> None:
    """Add `--home` and `--store`, and with *app* also `--app`."""
    parser.add_argument(
        "--home",
        type=given,
        metavar="DIR",
        help="folder of the log, the key and, with the default store, the tasks; default TRACEKIT_HOME, else .tracekit",
    )
    parser.add_argument(
        "--store",
        type=given,
        metavar="URL",
        help="sqlite:PATH or postgresql://...; default TRACEKIT_STORE, else HOME/state.db",
    )
    if app:
        parser.add_argument(
            "--app", metavar="MODULE", help="module or script that declares the tasks and tools"
        )


def given(text: str) -> str:
    """The type of an option: a text that is not empty, as an unset variable leaves it; another store would be taken instead."""
    if text:
        return text
    raise argparse.ArgumentTypeError("expected where it is, got an empty text; is its variable set?")


def at_least(least: int) -> Callable[[str], int]:
    """The type of an option: a whole number of *least* or more."""

    def read(text: str) -> int:
        if text.lstrip("-").isdecimal() and int(text) >= least:
            return int(text)
        raise argparse.ArgumentTypeError(f"expected a whole number of at least {least}, got {text!r}")

    return read


def amount(text: str) -> float:
    """The type of an option: a finite number, 0 or more."""
    with contextlib.suppress(ValueError):
        if 0 <= float(text) < math.inf:
            return float(text)
    raise argparse.ArgumentTypeError(f"expected a number of at least 0, got {text!r}")


def above_zero(text: str) -> float:
    """The type of an option: a finite number above 0."""
    if found := amount(text):
        return found
    raise argparse.ArgumentTypeError("expected a number above 0, got 0")


def add_format(parser: argparse.ArgumentParser) -> None:
    """Add `--format table|json`."""
    parser.add_argument("--format", choices=("table", "json"), default="table")


def print_json(value: Any) -> None:
    """*value* as indented JSON on stdout; our own words (statuses, kinds) as plain texts."""
    print(orjson.dumps(to_log(_worded(value)), option=orjson.OPT_INDENT_2).decode())


def _worded(value: Any) -> Any:
    """*value* with its `StrEnum`s as texts, which in the log's form would be typed markers."""
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, dict):
        return {name: _worded(each) for name, each in value.items()}
    return [_worded(each) for each in value] if isinstance(value, list | tuple) else value


def inline(value: Any) -> str:
    """*value* as JSON on one line for a person; a text as it is."""
    return value if isinstance(value, str) else orjson.dumps(readable(to_log(value))).decode()


def typed_again(options: argparse.Namespace) -> str:
    """The options by which another command finds the store of *options*, with a space before them; mostly empty."""
    from tracekit.durable.next_commands import store_option
    from tracekit.durable.owning import existing_store

    return store_option(existing_store(options.store))


def counted(count: int, word: str) -> str:
    """`1 call`, `2 calls`."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def print_table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Aligned columns on stdout; control codes of the data are shown, never sent to the terminal."""
    texts = [list(head), *([visible(str(cell)) for cell in row] for row in rows)]
    widths = [max(_width(row[column]) for row in texts) for column in range(len(head))]
    for row in texts:
        cells = [cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True)]
        print(_hung("  ".join(cells).rstrip(), sum(widths[:-1]) + 2 * len(widths) - 2))


def _hung(line: str, indent: int) -> str:
    """
    *line* as a terminal shows it best: the end that does not fit goes on below the last column.

    A pipe gets it whole, and so does a person where it holds a command, which is to be copied.
    """
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    if _width(line) <= width or width - indent < _LEAST_COLUMN or _COMMAND.search(line):
        return line
    return textwrap.fill(line, width, subsequent_indent=" " * indent, break_on_hyphens=False)


def visible(text: str) -> str:
    """*text* on one line, with control and direction codes made visible."""
    return "".join(
        f"\\x{ord(c):02x}" if unicodedata.category(c) in ("Cc", "Cf", "Cs") and c not in "\t" else c
        for c in text.replace("\n", " ")
    )


def _width(text: str) -> int:
    return sum(
        2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text if not unicodedata.combining(c)
    )


def say(text: str) -> None:
    """Talk goes to stderr; stdout is data. A stderr that takes nothing, as on a full disk, stops no work."""
    _write(text, sys.stderr)


def tell(text: str) -> None:
    """One line of data of a command that goes on working; a stdout that takes nothing any more is told once and left."""
    if not _write(text, sys.stdout):
        say("tracekit: standard output takes nothing any more; the work goes on without it")


def _write(text: str, stream: TextIO) -> bool:
    try:
        print(text, file=stream, flush=True)
    except OSError:
        # What stands in the buffer would fail once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return False
    return True
