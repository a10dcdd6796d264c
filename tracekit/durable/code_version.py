"""What code a task ran with: its source without comments, and the schemas of the tools beside it."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import Any

from tracekit.snapshot import canonical, digest
from tracekit.store.rows import TaskRow
from tracekit.tools import registry


def code_version(function: Callable[..., Any]) -> str:
    """Digest of the source without comments, docstrings and layout; of the byte code where there is no source."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        code = getattr(function, "__code__", None)
        return digest(code.co_code) if code is not None else ""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and ast.get_docstring(
            node
        ):
            node.body = node.body[1:] or [ast.Pass()]
    return digest(ast.unparse(tree).encode("utf-8", "surrogatepass"))


def tool_schema_hash(module: str) -> str:
    """Digest of the definitions of all tools that *module* declares."""
    mine = [tool for tool in registry() if tool.function.__module__ == module]
    return digest(
        canonical([tool.definition()["function"] for tool in sorted(mine, key=lambda tool: tool.name)])
    )


def code_change(task: TaskRow, version: str, schema_hash: str) -> list[str]:
    """What differs from the code that the task ran with, in words; empty when nothing does."""
    changed = []
    if task.code_version and task.code_version != version:
        changed.append("the source of the task function")
    if task.tool_schema_hash and task.tool_schema_hash != schema_hash:
        changed.append("the schema of a tool")
    return changed
