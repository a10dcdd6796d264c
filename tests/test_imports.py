"""What an import costs: recording must not pull in what only analysis and the screen need."""

import importlib.util
import subprocess
import sys

import pytest

HEAVY = (
    "duckdb",
    "polars",
    "jsonlines",
    "textual",
    "psycopg",
    "openai",
    "httpx",
    "tracekit_analyzers",
    "tracekit_tui",
)


NEEDS_EXTRA = () if importlib.util.find_spec("pyarrow") else ("tracekit_analyzers.spark",)
"""Packages whose own extra is not installed here; `make spark` tests them with it."""

WALK = f"""
import importlib, pkgutil, sys
def names(package):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + '.'):
        parent, _, last = module.name.rpartition('.')
        if last != '__main__' and parent not in {NEEDS_EXTRA!r}:
            yield module.name
"""


def loaded_after(code: str) -> set[str]:
    """Top-level names in `sys.modules` of a new process that ran *code*."""
    run = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules, sep='\\n')"],
        capture_output=True,
        text=True,
        check=True,
    )
    return {name.partition(".")[0] for name in run.stdout.split()}


def test_importing_tracekit_loads_nothing_of_analysis_or_screen() -> None:
    assert loaded_after("import tracekit").isdisjoint(HEAVY)


def test_using_every_public_name_still_loads_nothing_of_analysis_or_screen() -> None:
    code = "import tracekit\nfor name in tracekit.__all__: getattr(tracekit, name)"

    assert loaded_after(code).isdisjoint(HEAVY)


def test_importing_tracekit_alone_loads_no_store_and_no_validation() -> None:
    assert loaded_after("import tracekit").isdisjoint({"apsw", "pydantic", "orjson", "opentelemetry"})


def test_analysis_loads_no_screen() -> None:
    code = f"{WALK}\nimport tracekit_analyzers\nfor name in names(tracekit_analyzers): importlib.import_module(name)"

    assert loaded_after(code).isdisjoint({"textual", "tracekit_tui"})


@pytest.mark.parametrize("package", ["tracekit", "tracekit_analyzers", "tracekit_tui"])
def test_every_module_can_be_imported_on_its_own(package: str) -> None:
    code = f"""{WALK}
import {package} as package
found = list(names(package))
print(len(found), file=sys.stderr)
for name in found:
    for loaded in [m for m in sys.modules if m.partition('.')[0] == '{package}']:
        del sys.modules[loaded]
    importlib.import_module(name)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert run.returncode == 0, run.stderr[-2000:]
    assert int(run.stderr.split()[0]) >= 1
