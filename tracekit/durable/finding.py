"""Finding a task function again in another process: by import of its module, or by the path of its script."""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from tracekit.durable.errors_stored import safe_text
from tracekit.durable.task import Task, registered_task, registered_tasks
from tracekit.errors import TracekitError
from tracekit.modules import file_of, is_script, load_script


def load_app(app: str) -> ModuleType:
    """
    Import *app*, a module name or the path of a script, so that its tasks and tools are declared.

    Raises:
        TracekitError: `task.no_module`; `task.app_failed`: it raised, and where.
    """
    if is_script(app):
        return _loaded(app, lambda: load_script(Path(app)))
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    return _loaded(app, lambda: importlib.import_module(app))


def _loaded(app: str, load: Callable[[], ModuleType]) -> ModuleType:
    try:
        return load()
    except TracekitError:
        raise
    except ModuleNotFoundError as error:
        if error.name and f"{app}.".startswith(f"{error.name}."):
            raise TracekitError(
                "task.no_module",
                f"there is no module {app!r} on the import path; run from its folder, set PYTHONPATH, or give --app",
            ) from error
        raise _app_failed(app, error) from error
    except (Exception, SystemExit) as error:
        # A script without a guard around its main part ends itself while it is loaded; this process goes on.
        raise _app_failed(app, error) from error


def _app_failed(app: str, error: BaseException) -> TracekitError:
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return TracekitError(
        "task.app_failed",
        f"{app} could not be loaded: {type(error).__name__}: {safe_text(error)}{where}; set what it needs, and keep what it does "
        "under `if __name__ == '__main__':`",
    )


def find_task(function: str, app: str | None = None) -> Task[Any]:
    """
    The declared task that a row names by `module:qualified_name`.

    Raises:
        TracekitError: `task.no_module` or `task.not_found`, with where it was looked for.
    """
    if app is not None:
        load_app(app)
    found = registered_task(function)
    if found is not None:
        return found
    module_name, _, qualified = function.rpartition(":")
    if app is None:
        found = _attribute(load_app(module_name), qualified)
    # A module that has moved, or a script that is now run as main: the function's own name decides.
    same_name = [name for name in registered_tasks() if name.rpartition(":")[2] == qualified]
    if found is None and len(same_name) == 1:
        found = registered_task(same_name[0])
    if found is None:
        raise TracekitError(
            "task.not_found",
            f"expected a @tracekit.task named {qualified!r} in {app or module_name}, found "
            f"{', '.join(registered_tasks()) or 'no tasks'}; give --app with the module that declares it",
        )
    return found


def known_names() -> tuple[str, ...]:
    """Every name under which a task that is declared here may stand in a store: of its module, and of its file."""
    names: set[str] = set()
    for name in registered_tasks():
        task = registered_task(name)
        names.add(name)
        file = file_of(sys.modules.get(task.function.__module__)) if task is not None else None
        if file is None:
            continue
        path = Path(file)
        parts = [*path.parent.parts[1:], path.stem]
        qualified = name.rpartition(":")[2]
        names.add(f"{path}:{qualified}")
        names.update(f"{'.'.join(parts[start:])}:{qualified}" for start in range(len(parts)))
    return tuple(sorted(names))


def _attribute(module: ModuleType, qualified: str) -> Task[Any] | None:
    found: Any = module
    for part in qualified.split("."):
        found = getattr(found, part, None)
    return found if isinstance(found, Task) else None
