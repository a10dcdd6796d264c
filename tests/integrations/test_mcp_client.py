"""The MCP SDK's client against a real server process on standard input and output."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.shared.exceptions import MCPError

import tracekit
from tracekit.integrations import mcp

SERVER = StdioServerParameters(command=sys.executable, args=[str(Path(__file__).with_name("mcp_server.py"))])


@asynccontextmanager
async def session(home: Any) -> AsyncIterator[ClientSession]:
    mcp.instrument()
    async with stdio_client(SERVER) as (read, write), ClientSession(read, write) as made:
        await made.initialize()
        yield made


def tools_of(steps: Any) -> list[dict[str, Any]]:
    return [step for step in steps() if step["kind"] == "tool"]


async def test_a_call_is_a_tool_step(home: Any, steps: Any) -> None:
    async with session(home) as shop:
        result = await shop.call_tool("find_order", {"order_id": "A-1024"})

    assert not result.is_error
    (step,) = tools_of(steps)
    assert (step["tool_name"], step["status"], step["input_snapshot"]) == (
        "find_order",
        "ok",
        {"order_id": "A-1024"},
    )
    assert step["output_snapshot"] == {"order": "A-1024", "status": "delivered"}
    assert step["attributes"]["mcp.method.name"] == "tools/call"


async def test_a_result_that_says_it_failed_is_an_error_though_the_call_went_well(
    home: Any, steps: Any
) -> None:
    async with session(home) as shop:
        result = await shop.call_tool("refund", {"order_id": "A-1024"})

    assert result.is_error
    (step,) = tools_of(steps)
    assert (step["status"], step["error_type"]) == ("error", "tool_error")
    assert "A-1024" in step["error_message"]


async def test_a_call_inside_a_tool_of_the_same_name_counts_once(home: Any, steps: Any) -> None:
    async with session(home) as shop:

        @tracekit.tool(effect="read")
        async def find_order(order_id: str) -> Any:
            return (await shop.call_tool("find_order", {"order_id": order_id})).structured_content

        await find_order("A-1024")

    (step,) = tools_of(steps)
    assert step["output_snapshot"] == {"order": "A-1024", "status": "delivered"}
    assert step["attributes"]["mcp.method.name"] == "tools/call"


async def test_an_error_of_the_protocol_tells_its_code(home: Any, steps: Any) -> None:
    async with session(home) as shop:
        with pytest.raises(MCPError) as raised:
            await shop.call_tool("refund", {"order_id": "A-1024"}, read_timeout_seconds=1e-9)

    (step,) = tools_of(steps)
    assert step["status"] == "error"
    assert step["attributes"]["rpc.response.status_code"] == str(raised.value.error.code)
    assert step["attributes"]["mcp.protocol.version"] == shop.protocol_version
