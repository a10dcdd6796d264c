"""Nothing of a client is needed until it is instrumented, and a missing one is told in words."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import pytest

from tracekit.errors import TracekitError
from tracekit.integrations import anthropic, langchain, mcp, openai, openai_agents

WANTED = {
    anthropic: ("anthropic", "anthropic"),
    langchain: ("langchain_core", "langchain-core"),
    mcp: ("mcp", "mcp"),
    openai: ("openai", "openai"),
    openai_agents: ("agents", "openai-agents"),
}


@pytest.mark.parametrize("integration", WANTED, ids=lambda module: module.__name__.rpartition(".")[2])
def test_a_missing_client_is_told_with_what_to_install(
    integration: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    package, name = WANTED[integration]
    for module in [each for each in sys.modules if each.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, package, None)  # type: ignore[arg-type]  # how Python marks an absent module

    with pytest.raises(TracekitError, match=f"pip install {name}") as raised:
        integration.instrument()

    assert raised.value.code == "integration.missing"


def test_importing_the_integrations_imports_no_client() -> None:
    names = ("openai", "anthropic", "httpx", "langchain", "mcp", "openai_agents")
    code = (
        f"import sys\nfrom tracekit.integrations import {', '.join(names)}\n"
        "clients = {'openai', 'anthropic', 'httpx', 'httpx2', 'langchain_core', 'mcp', 'agents'}\n"
        "print(sorted(clients & set(sys.modules)))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
