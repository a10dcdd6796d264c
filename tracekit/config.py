"""
Settings of this process: from `configure` (which `tracekit.init` calls), else from the environment, else defaults.

`TRACEKIT_HOME` (default `.tracekit`), `TRACEKIT_STORE` (default `sqlite:HOME/state.db`), `TRACEKIT_SERVICE`,
`TRACEKIT_LOG=off`, `TRACEKIT_BLOB_BYTES`, `TRACEKIT_ROTATE_BYTES`, `TRACEKIT_CLAIM_S`.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tracekit.errors import TracekitError


@dataclass(frozen=True, slots=True)
class Settings:
    """What `tracekit.init` was told; one for the process."""

    service: str
    """Names the agent in the log; default is the name of the program."""
    home: Path
    """Folder of `traces/`, `blobs/`, `key` and, with the default store, `state.db`."""
    store_url: str
    """`sqlite:PATH`, `postgresql://...` or `memory:NAME`."""
    log_enabled: bool = True
    capture_input: bool = True
    """Whether input snapshots are written to the log."""
    capture_output: bool = True
    capture_messages: bool = True
    """Whether the text of messages is written; their hashes always are."""
    capture_stack: bool = True
    """Whether the stack of an exception is written."""
    content_on_spans: bool = False
    """Whether inputs, outputs and raw text go into span attributes too, and so to other exporters."""
    redact: bool = True
    """Whether secrets become markers; off only for logs that never leave a safe place."""
    harmless_keys: tuple[str, ...] = ()
    """Keys whose values are never secrets here, whatever the rules say."""
    secret_keys: tuple[str, ...] = ()
    """Keys whose values are always secrets here."""
    seal_all: bool = False
    """Whether everything that the store holds of a task is sealed, not only what a secret rule matches."""
    blob_bytes: int = 262_144
    """A value whose JSON is longer stands in a file of its own under `HOME/blobs`."""
    rotate_bytes: int = 268_435_456
    """A log file that has grown past this is followed by a new one."""
    exit_budget_s: float = 2.0
    """Longest time that recording may take at the exit of the process."""
    claim_s: float = 900.0
    """How long a claim on a question stands before it ends by itself."""


_current: Settings | None = None


def settings() -> Settings:
    """The settings in force; made from the environment at the first call."""
    global _current
    if _current is None:
        _current = from_environment(os.environ)
    return _current


def configure(**changes: Any) -> Settings:
    """
    Put *changes* (fields of `Settings`; None means unchanged) in force and return the whole.

    A new *home* moves the default store with it.

    Raises:
        TracekitError: a name is not a setting, or its value can't be one.
    """
    global _current
    given = {name: value for name, value in changes.items() if value is not None}
    if unknown := given.keys() - set(Settings.__dataclass_fields__):
        raise TracekitError(
            "config.unknown_setting",
            f"expected settings out of {sorted(Settings.__dataclass_fields__)}, got {sorted(unknown)}",
        )
    given = {name: _fitting(name, value) for name, value in given.items()}
    before = settings()
    moves_store = "store_url" not in given and before.store_url == default_store_url(before.home)
    if "home" in given and moves_store:
        given["store_url"] = default_store_url(given["home"])
    _current = replace(before, **given)
    return _current


def _fitting(name: str, value: Any) -> Any:
    """*value* as the setting *name* holds it; raises where it is of another kind."""
    kind = str(Settings.__dataclass_fields__[name].type)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    match kind:
        case "bool" if isinstance(value, bool):
            return value
        case "int" if is_number and isinstance(value, int) and value > 0:
            return value
        case "float" if is_number and 0 <= value < math.inf:
            return value
        case "str" if isinstance(value, str):
            return value
        case "Path" if isinstance(value, str | os.PathLike):
            return Path(value)
        case "tuple[str, ...]" if _is_names(value):
            return tuple(sorted(value) if isinstance(value, set | frozenset) else value)
    raise TracekitError("config.bad_value", f"expected {_KINDS[kind]} for the setting {name}, got {value!r}")


def _is_names(value: Any) -> bool:
    """Whether *value* lists texts; one text alone would count as a list of its letters."""
    return isinstance(value, list | tuple | set | frozenset) and all(isinstance(each, str) for each in value)


_KINDS = {
    "bool": "True or False",
    "int": "a whole number above 0",
    "float": "a number of seconds, not negative",
    "str": "a text",
    "Path": "the path of a folder",
    "tuple[str, ...]": "a list of names",
}
"""What a setting of each type expects, in words."""


def reset() -> None:
    """Forget what was configured; the environment counts again."""
    global _current
    _current = None


def default_store_url(home: Path) -> str:
    """Where tasks are kept when nothing is said: one SQLite file in *home*."""
    return f"sqlite:{home / 'state.db'}"


def from_environment(env: Mapping[str, str]) -> Settings:
    """The settings of a process that was told nothing but *env*."""
    home = Path(env.get("TRACEKIT_HOME") or ".tracekit")
    return Settings(
        service=env.get("TRACEKIT_SERVICE") or env.get("OTEL_SERVICE_NAME") or _program_name(),
        home=home,
        store_url=env.get("TRACEKIT_STORE") or default_store_url(home),
        log_enabled=env.get("TRACEKIT_LOG", "on").lower() not in ("off", "0", "false", "no"),
        seal_all=env.get("TRACEKIT_SEAL_ALL", "off").lower() in ("on", "1", "true", "yes"),
        blob_bytes=_whole(env, "TRACEKIT_BLOB_BYTES", 262_144),
        rotate_bytes=_whole(env, "TRACEKIT_ROTATE_BYTES", 268_435_456),
        claim_s=_whole(env, "TRACEKIT_CLAIM_S", 900),
    )


def _whole(env: Mapping[str, str], name: str, default: int) -> int:
    text = env.get(name, "").replace("_", "")
    if not text:
        return default
    if not text.isdecimal() or int(text) == 0:
        raise TracekitError(
            "config.bad_value", f"expected a whole number above 0 in {name}, got {env[name]!r}"
        )
    return int(text)


def _program_name() -> str:
    main = sys.modules.get("__main__")
    if (package := getattr(main, "__package__", None)) and sys.argv and sys.argv[0].endswith("__main__.py"):
        return str(package).partition(".")[0]  # `python -m package`
    return Path(sys.argv[0] if sys.argv and sys.argv[0] not in ("", "-c", "-m") else "agent").stem or "agent"
