"""The user's keys: a TOML file that gives actions other keys."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

from tracekit.errors import TracekitError
from tracekit_tui.actions import find


def key_file() -> Path:
    """`TRACEKIT_KEYS`, else `tracekit/keys.toml` in the user's folder of settings."""
    named = os.environ.get("TRACEKIT_KEYS")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(base).expanduser() / "tracekit" / "keys.toml"


def read_keys(path: Path) -> dict[str, str]:
    """
    Action id to key, from `[keys]` of *path*; empty where there is no file.

    Raises:
        TracekitError: `keys.unreadable` when it is no TOML; `keys.unknown_action` for an id that does not exist.
    """
    if not path.is_file():
        return {}
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8")).get("keys", {})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise TracekitError(
            "keys.unreadable", f'{path}: expected TOML such as \'keys."app.help" = "f1"\', but {error}'
        ) from error
    found: dict[str, str] = {}
    for action_id, key in _flat(table).items():
        if find(action_id) is None:
            raise TracekitError(
                "keys.unknown_action",
                f"{path}: there is no action {action_id!r}; `tracekit tui --keys` prints all of them",
            )
        found[action_id] = key
    return found


def _flat(table: dict[str, object]) -> dict[str, str]:
    """`{"app.help": "f1"}` from `"app.help" = "f1"` as well as from `app.help = "f1"`."""
    found: dict[str, str] = {}
    for name, value in table.items():
        if isinstance(value, dict):
            found.update({f"{name}.{rest}": key for rest, key in _flat(value).items()})
        else:
            found[name] = str(value)
    return found
