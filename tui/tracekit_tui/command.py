"""`tracekit tui`: open logs, a folder that is being written, a store, or both together."""

from __future__ import annotations

import argparse
import atexit
import os
import shlex
import sys
from importlib.util import find_spec
from pathlib import Path

from tracekit.cli._store import given
from tracekit.cli.command import Command, UsageError
from tracekit.modules import is_script
from tracekit_tui.actions import ACTIONS


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument(
        "paths", nargs="*", metavar="PATH", help="log file or folder; default: TRACEKIT_HOME or .tracekit"
    )
    parser.add_argument(
        "--store",
        type=given,
        metavar="URL",
        help="store of the tasks; default: TRACEKIT_STORE for the logs of the home folder, else state.db beside the logs",
    )
    parser.add_argument(
        "--app", metavar="MODULE", help="module of the tasks, so that recoveries can run here"
    )
    parser.add_argument("--reader", metavar="NAME", help="read all files as this format")
    parser.add_argument("--web", action="store_true", help="serve it to a browser on this machine instead")
    parser.add_argument(
        "--port", type=int, default=0, help="with --web: port on loopback; default any free one"
    )
    parser.add_argument("--keys", action="store_true", help="print the table of actions and keys, and stop")


def run(options: argparse.Namespace) -> int:
    """Open the explorer; 0 when the person left it."""
    from tracekit_tui.keyfile import key_file, read_keys

    if options.keys:
        for action in ACTIONS:
            print(f"{action.id}\t{action.key}\t{action.place}\t{action.title}")
        return 0
    options.store = options.store or _usual_store(options.paths)
    paths = _paths(options.paths, options.store)
    _check_app(options.app)
    keys = read_keys(key_file())
    if options.web:
        return _serve(options)
    if "TEXTUAL_DRIVER" not in os.environ and not (sys.stdin.isatty() and sys.stderr.isatty()):
        # Textual draws on stderr; with a driver of its own it needs no terminal.
        raise UsageError(
            "tracekit tui needs a terminal; `tracekit analyze PATH` prints the same findings as text"
        )
    from tracekit_tui.app import Explorer
    from tracekit_tui.controller import open_controller

    app = Explorer(
        lambda: open_controller(paths, store=options.store, app=options.app, reader=options.reader), keys=keys
    )
    code = app.run()
    if app.controller is not None and not app.loading:
        app.controller.close()
    sys.stdout.flush()
    if app.loading:
        # A reader is still at work in its thread: nobody waits for it, but its temporary folder goes with us.
        atexit._run_exitfuncs()
        os._exit(code or 0)
    return code or 0


def _serve(options: argparse.Namespace) -> int:
    try:
        from tracekit_tui.web import serve
    except ModuleNotFoundError as error:
        raise UsageError(f"--web needs {error.name}: pip install 'tracekit-agents[tui]'") from error
    words = [sys.executable, "-m", "tracekit.cli", "tui", *options.paths]
    for name in ("store", "app", "reader"):
        value = getattr(options, name)
        if value is not None:
            words += [f"--{name}", value]
    return serve(shlex.join(words), options.port)


def _home() -> Path:
    return Path(os.environ.get("TRACEKIT_HOME") or ".tracekit")


def _usual_store(given: list[str]) -> str | None:
    """The store of this environment, unless a stranger's logs are opened: a task of the same name may be in it."""
    home = _home().resolve()
    is_own = all(Path(path).resolve().is_relative_to(home) for path in given)
    return (os.environ.get("TRACEKIT_STORE") or None) if is_own else None


def _paths(given: list[str], store: str | None) -> list[Path]:
    if given:
        missing = [
            path
            for path in given
            if path != "-" and not Path(path).exists() and not any(mark in path for mark in "*?[")
        ]
        if missing:
            raise UsageError(f"expected a log file or folder, but there is no {missing[0]}")
        return [Path(path) for path in given]
    home = _home()
    if store is not None and (store != os.environ.get("TRACEKIT_STORE") or not home.exists()):
        return _beside(store)
    if not home.exists():
        raise UsageError(
            f"no PATH was given and there is no {home.absolute()}. Name logs (`tracekit tui run.jsonl logs/`) or a store "
            "(--store URL); `tracekit demo` makes a first log"
        )
    return [home]


def _check_app(app: str | None) -> None:
    """A module that is not there is told now, not when a recovery is to run it; nothing of it is run here."""
    if app is None:
        return
    name = app.partition(".")[0]
    is_there = Path(app).is_file() if is_script(app) else _is_module(name)
    if not is_there:
        raise UsageError(
            f"expected in --app a module or script that declares the tasks, but there is no {app} here or on the "
            "import path; run from its folder, or set PYTHONPATH"
        )


def _is_module(name: str) -> bool:
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    return find_spec(name) is not None


def _beside(store: str) -> list[Path]:
    """The logs that stand beside a store in a file; for any other, those of the home folder where there is one."""
    home = _home()
    if store.startswith("sqlite:"):
        file = Path(store.removeprefix("sqlite:"))
        if not file.is_file():
            raise UsageError(f"expected a store, but there is no {file}")
        home = file.parent
    return [home / "traces"] if (home / "traces").is_dir() else []


COMMAND = Command("tui", "the terminal explorer", configure, run)
