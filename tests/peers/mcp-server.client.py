"""Drives `threadhold mcp` with the client of the Python SDK. Arguments: the lifecycle (`auto` or `legacy`), then the
server's command line. Reads one call a line from standard input, as JSON with `tool` and `arguments`, and prints one
answer a line; the first line is what the server says of itself."""

import asyncio
import json
import sys

from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client


def say(answer):
    print(json.dumps(answer), flush=True)


async def main(mode, command, *args):
    server = StdioServerParameters(command=command, args=list(args))
    async with Client(stdio_client(server), mode=mode) as client:
        tools = (await client.list_tools()).tools
        say({
            "revision": client.protocol_version,
            "server": client.server_info.name,
            "readOnly": {tool.name: tool.annotations.read_only_hint for tool in tools},
        })
        while line := await asyncio.to_thread(sys.stdin.readline):
            call = json.loads(line)
            done = await client.call_tool(call["tool"], call["arguments"])
            text = "".join(part.text for part in done.content)
            say({"isError": done.is_error, "text": text, "result": done.structured_content})


asyncio.run(main(*sys.argv[1:]))
