"""What the packages never do, read from their source: no code out of data, no shell, no guessable file, no guard that -O removes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted(
    path
    for top in ("tracekit", "analyzers/tracekit_analyzers", "tui/tracekit_tui")
    for path in (ROOT / top).rglob("*.py")
)
MODULES = {"pickle", "cPickle", "_pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "yaml"}
BUILT_IN = {"exec", "eval", "compile", "__import__"}
CALLS = {
    "os.system",
    "os.popen",
    "tempfile.mktemp",
    "subprocess.getoutput",
    "subprocess.getstatusoutput",
    "builtins.eval",
    "builtins.exec",
}
ALLOWED = {("tracekit/arguments.py", "eval")}
"""Of a type hint in the source of the agent itself, as `typing.get_type_hints` does it: no text of a log comes there."""


def used(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and name of each thing of the lists above."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, each.name) for each in node.names if each.name.split(".")[0] in MODULES)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in MODULES:
            yield node.lineno, node.module or ""
        elif isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if name in BUILT_IN | CALLS:
                yield node.lineno, name
            if any(
                word.arg == "shell"
                and not (isinstance(word.value, ast.Constant) and word.value.value is False)
                for word in node.keywords
            ):
                yield node.lineno, "shell="


@pytest.mark.parametrize(
    "text",
    [
        "import pickle",
        "from yaml import load",
        "eval('1')",
        "import os; os.system('x')",
        "run('x', shell=True)",
        "run('x', shell=y)",
        "tempfile.mktemp()",
    ],
)
def test_the_search_finds_what_it_is_for(text: str) -> None:
    assert list(used(ast.parse(text)))


def test_no_code_is_made_of_data_and_no_shell_is_asked() -> None:
    assert len(FILES) > 300
    found = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in FILES
        for line, name in used(ast.parse(path.read_bytes()))
        if (str(path.relative_to(ROOT)), name) not in ALLOWED
    ]
    assert found == []


def test_no_guard_is_an_assert() -> None:
    """`python -O` removes them: they may only say what a type checker can't see."""
    narrowing = ("is not None", "isinstance(", "is_dataclass(", "not isinstance(")
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node.test)}"
        for path in FILES
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.Assert)
        and "testing" not in path.parts
        and not any(mark in ast.unparse(node.test) for mark in narrowing)
    ]
    assert found == []
