"""Prints, as pip's constraints, the oldest version of each dependency that pyproject.toml allows; for `make oldest`."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parent.parent / "pyproject.toml"


def oldest(leave_out: tuple[str, ...] = ("spark",)) -> dict[str, str]:
    """Name to version, of the plain dependencies and of those of all extras but *leave_out*."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = [
        *project["dependencies"],
        *(text for name in extras if name not in leave_out for text in extras[name]),
    ]
    found = (re.match(r"([\w-]+)(?:\[[\w,]+\])?>=([\d.]+)$", text) for text in wanted)
    return {match[1]: match[2] for match in found if match}


if __name__ == "__main__":
    print(*(f"{name}=={version}" for name, version in oldest().items()), sep="\n")
