"""A tool server for chats: it tells of progress, asks the user, and has a prompt and a resource."""

import json
import os
import sys
import time


def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def result(id, text):
    send({"id": id, "result": {"content": [{"type": "text", "text": text}]}})


def call(id, name, token):
    if name == "book":
        guests = {"type": "integer", "description": "Guests", "minimum": 1}
        where = {"type": "string", "enum": ["in", "out"], "default": "in"}
        schema = {"type": "object", "properties": {"guests": guests, "where": where}, "required": ["guests"]}
        send({"id": id, "method": "elicitation/create", "params": {"message": "Which table?", "requestedSchema": schema}})
        answer = json.loads(sys.stdin.readline())["result"]
        result(id, f"{answer['action']} {json.dumps(answer.get('content'))}")
    else:
        done = {"progressToken": token, "progress": 1, "total": 4, "message": "counts"}
        send({"method": "notifications/progress", "params": done})
        while not os.path.exists("seen"):
            time.sleep(0.01)
        result(id, "counted")


for line in sys.stdin:
    message = json.loads(line)
    id, method, params = message.get("id"), message.get("method"), message.get("params", {})
    if method == "initialize":
        able = {"tools": {}, "prompts": {}, "resources": {}}
        about = {"protocolVersion": "2025-11-25", "capabilities": able, "serverInfo": {"name": "table", "version": "1"}}
        send({"id": id, "result": about})
    elif method == "tools/list":
        send({"id": id, "result": {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ("book", "count")]}})
    elif method == "tools/call":
        call(id, params["name"], params["_meta"]["progressToken"])
    elif method == "prompts/list":
        send({"id": id, "result": {"prompts": [{"name": "greet", "arguments": [{"name": "whom", "required": True}]}]}})
    elif method == "resources/list":
        send({"id": id, "result": {"resources": [{"uri": "table://menu", "name": "menu", "mimeType": "text/plain"}]}})
    elif method == "resources/read":
        send({"id": id, "result": {"contents": [{"uri": params["uri"], "mimeType": "text/plain", "text": "Soup."}]}})
    elif method == "prompts/get":
        text = f"Greet {params['arguments']['whom']}."
        send({"id": id, "result": {"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}})
    elif id is not None:
        send({"id": id, "error": {"code": -32601, "message": "no such method"}})
