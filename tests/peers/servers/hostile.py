"""A server of the newest SDK whose tools misbehave, or change while it runs."""

import os
import sys

from mcp.server.mcpserver import Context, MCPServer
from mcp.types import ToolAnnotations

server = MCPServer("hostile")


@server.tool(annotations=ToolAnnotations(readOnlyHint=True, openWorldHint=False))
def look() -> str:
    """Looks."""
    return "looked"


@server.tool()
def huge() -> str:
    """Answers with 100 MB."""
    return "x" * 100_000_000


@server.tool()
def crash() -> str:
    """Ends the server."""
    print("crashed on purpose", file=sys.stderr, flush=True)
    os._exit(7)


@server.tool()
def structured() -> dict[str, int]:
    """Answers with structured content."""
    return {"answer": 42}


@server.tool()
async def grow(ctx: Context) -> str:
    """Adds a tool."""

    def grown() -> str:
        return "grown"

    server.add_tool(grown)
    await ctx.notify_tools_changed()
    return "done"


server.run(sys.argv[1] if len(sys.argv) > 1 else "stdio")
