"""An MCP server on standard input and output with one tool that works and one that fails."""

from __future__ import annotations

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("shop")


@server.tool()
def find_order(order_id: str) -> dict[str, str]:
    """Find an order."""
    return {"order": order_id, "status": "delivered"}


@server.tool()
def refund(order_id: str) -> str:
    """Pay back."""
    raise ToolError(f"order {order_id} is not paid")


if __name__ == "__main__":
    server.run()
