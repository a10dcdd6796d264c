"""
The name under which another process finds a module again.

A module has its import name. What was started as a script is `__main__` in one process and something else in the
next, so it goes by the path of its file; what was started by `python -m` goes by the name that stood there.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain
from pathlib import Path
from types import ModuleType

from tracekit.errors import TracekitError

_LOADED_SCRIPT = "tracekit_app_"
"""Prefix of modules that were loaded by the path of their script."""


def home_of(module: str) -> str:
    """The import name of *module*, or the absolute path of the script that it is."""
    loaded = sys.modules.get(module)
    if module == "__main__":
        spec = getattr(loaded, "__spec__", None)
        if spec is not None:
            return str(spec.name).removesuffix(".__main__")
        return file_of(loaded) or module
    if module.startswith(_LOADED_SCRIPT):
        return file_of(loaded) or module
    return module


def file_of(module: ModuleType | None) -> str | None:
    """The absolute path of the file that *module* was loaded from."""
    file = getattr(module, "__file__", None)
    return _resolved(file) if file else None


@lru_cache(maxsize=1024)
def _resolved(file: str) -> str:
    """Asked for each stored value of a class, and each answer costs system calls."""
    return str(Path(file).resolve())


def is_script(home: str) -> bool:
    """Whether *home* is the path of a script rather than an import name."""
    return home.endswith(".py") or os.sep in home


def loaded_module(home: str) -> ModuleType | None:
    """
    The module that goes by *home*, if this process has loaded it already; nothing is imported.

    A script is also found as the module that it was imported as, and where it has moved by the name of its file.
    """
    if not is_script(home):
        return sys.modules.get(home) or _main_called(home)
    path = Path(home)
    here = (module for module in _by_file_name(path.stem) if file_of(module) == home)
    moved = (module for module in _by_file_name(path.stem) if Path(file_of(module) or "").name == path.name)
    return next(chain(here, moved), None)


def load_script(path: Path) -> ModuleType:
    """
    The script at *path* as a module, loaded once.

    Raises:
        TracekitError: `task.no_module`: there is no such script.
    """
    path = path.resolve()
    for known in (sys.modules.get("__main__"), sys.modules.get(_LOADED_SCRIPT + path.stem)):
        if known is not None and file_of(known) == str(path):
            return known
    name = _LOADED_SCRIPT + path.stem
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.exists():
        raise TracekitError("task.no_module", f"there is no script {path}; give --app with where it is now")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]  # half a module would pass for the whole one the next time
        raise
    return module


def _main_called(home: str) -> ModuleType | None:
    """The main module, when it was started as `python -m home`."""
    return sys.modules.get("__main__") if home_of("__main__") == home else None


def _by_file_name(stem: str) -> Iterator[ModuleType | None]:
    """Loaded modules that a file of that name may have become, the likely ones first."""
    yield from map(sys.modules.get, ("__main__", _LOADED_SCRIPT + stem, stem))
    yield from (sys.modules.get(name) for name in tuple(sys.modules) if name.endswith(f".{stem}"))
