"""The page of public names: made from the names, all typed and explained, and all that the other pages import."""

import ast
import importlib
import inspect
from pathlib import Path
from typing import Any

import pytest

from docs import make_api
from tests.docs.pages import PAGES, ROOT, blocks

PUBLIC = {(section.module, name) for section in make_api.SECTIONS for name in section.public()}
MODULES = {module for module, _ in PUBLIC}


def all_shown() -> list[tuple[str, Any]]:
    return [
        pair
        for module, name in sorted(PUBLIC)
        for pair in make_api.shown(name, getattr(importlib.import_module(module), name))
        if name not in make_api.CONSTANTS
    ]


def test_the_page_is_what_the_names_say() -> None:
    written = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")

    assert written == make_api.page(), "run `python docs/make_api.py`"


def test_every_public_name_says_what_it_is() -> None:
    silent = [name for name, value in all_shown() if not make_api._first_line(value)]

    assert silent == []


def test_every_public_call_is_typed() -> None:
    untyped = []
    for name, value in all_shown():
        if inspect.isclass(value):
            continue
        signature = inspect.signature(value)
        parameters = list(signature.parameters.values())["." in name :]
        if any(each.annotation is each.empty for each in parameters):
            untyped.append(name)
        if signature.return_annotation is signature.empty:
            untyped.append(name)

    assert untyped == []


def imports(code: str) -> set[tuple[str, str]]:
    """Module and name of everything of ours that *code* imports or takes from `tracekit` itself."""
    found: set[tuple[str, str]] = set()
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.ImportFrom(module=str(module), names=names) if module.startswith("tracekit"):
                found |= {(module, each.name) for each in names}
            case ast.Attribute(value=ast.Name(id="tracekit"), attr=name):
                found.add(("tracekit", name))
    return found


def is_public(module: str, name: str) -> bool:
    if (module, name) in PUBLIC or f"{module}.{name}" in MODULES:
        return True
    # a package's public names may also be imported from where they live
    return any(
        name == other and module.startswith(f"{package}.") for package, other in PUBLIC if package in PACKAGES
    )


PACKAGES = ("tracekit.testing", "tracekit_analyzers")


@pytest.mark.parametrize(
    "page", [page for page in PAGES if any(block.language == "python" for block in blocks(page))]
)
def test_what_a_page_imports_is_public(page: str) -> None:
    code = [block.text for block in blocks(page) if block.language == "python"]

    assert {pair for text in code for pair in imports(text) if not is_public(*pair)} == set()


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_what_an_example_imports_is_public(example: Path) -> None:
    assert {pair for pair in imports(example.read_text()) if not is_public(*pair)} == set()
