"""A server over pipes, without an SDK, whose answers break the protocol's rules."""

import json
import sys

ANY = {"type": "object"}
TOOLS = [
    {"name": "text", "inputSchema": {"type": "string"}},
    {"name": "far", "inputSchema": {"type": "object", "properties": {"a": {"$ref": "https://elsewhere.example/x"}}}},
    {"name": "bad name!", "inputSchema": ANY},
    {"name": "number", "inputSchema": ANY, "outputSchema": {"type": "object", "properties": {"n": {"type": "number"}}}},
    {"name": "safe", "inputSchema": ANY, "annotations": {"readOnlyHint": True, "openWorldHint": False}},
    {"name": "odd", "inputSchema": ANY},
    {"name": "hang", "inputSchema": ANY},
    {"name": "flood", "inputSchema": ANY},
]


def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def answer(name):
    if name == "odd":
        return {"content": "not a list"}
    if name == "number":
        return {"content": [{"type": "text", "text": "n"}], "structuredContent": {"n": "no number"}}
    return {"content": [{"type": "text", "text": f"{name} was called"}]}


def flood():
    """Asks and tells without end, and reads nothing."""
    number = 0
    while True:
        number += 1
        send({"id": f"r{number}", "method": "roots/list"})
        send({"method": "notifications/tools/list_changed"})


for line in sys.stdin:
    asked = json.loads(line)
    method = asked.get("method")
    if "id" not in asked or method is None:
        continue
    if method == "initialize":
        result = {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": {"name": "liar", "version": "1"},
        }
    elif method == "tools/list":
        result = {"tools": TOOLS}
    elif method == "tools/call":
        name = asked["params"]["name"]
        if name == "hang":
            while True:
                sys.stdin.readline()
        if name == "flood":
            flood()
        result = answer(name)
    else:
        send({"id": asked["id"], "error": {"code": -32601, "message": "no such method"}})
        continue
    send({"id": asked["id"], "result": result})
