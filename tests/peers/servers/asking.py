"""A server of the newest SDK that asks the user before it does something."""

import sys
from typing import Annotated

from mcp.server.elicitation import ElicitationResult
from mcp.server.mcpserver import MCPServer, Resolve
from mcp.server.mcpserver.resolve import Elicit
from pydantic import BaseModel, Field

server = MCPServer("asking")


class Table(BaseModel):
    guests: int = Field(description="Number of guests", ge=1, le=8)
    outside: bool = Field(default=False, description="Outside?")


def table() -> Elicit[Table]:
    return Elicit("Which table?", Table)


@server.tool()
def book(table: Annotated[ElicitationResult[Table], Resolve(table)]) -> str:
    """Books a table."""
    data = getattr(table, "data", None)
    return f"{table.action} {data.model_dump_json() if data else ''}".strip()


server.run(sys.argv[1] if len(sys.argv) > 1 else "stdio")
