"""Puts the example's agent into a built wheel, so that `tracekit demo` runs there too; a checkout has it in examples/."""

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ExampleHook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds one file to wheels; an editable install is left alone, it would get a second copy."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the file to add when *version* is not `editable`."""
        if version != "editable":
            build_data["force_include"]["examples/refund_agent/agent.py"] = (
                "tracekit_analyzers/commands/refund_agent.py"
            )
