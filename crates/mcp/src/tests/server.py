"""A server of an older revision for the tests: each tool shows one behaviour. State is kept in the working directory."""

import json
import os
import sys
import time

tools = ["echo", "environment", "fail", "hang", "large", "die", "grow", "progress", "silent_die", "tell", "flood", "ask", "ask_by_address", "request"]


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def result(id, text):
    send({"id": id, "result": {"content": [{"type": "text", "text": text}]}})


def request(method, params):
    send({"id": "question", "method": method, "params": params})
    return json.loads(sys.stdin.readline())


def ask(params):
    return request("elicitation/create", params)


def until(file):
    while not os.path.exists(file):
        time.sleep(0.01)


def listed():
    names = tools + [name for name in ("grown",) if os.path.exists(name)]
    schema = {"type": "object"}
    return [{"name": name, "inputSchema": schema} for name in names] + [{"name": "bad", "inputSchema": {"type": "string"}}]


def call(id, name, arguments, token):
    if name == "echo":
        result(id, json.dumps(arguments))
    elif name == "environment":
        result(id, " ".join(sorted(os.environ)))
    elif name == "fail":
        send({"id": id, "error": {"code": -32000, "message": "the token s3cret was refused"}})
    elif name == "large":
        send({"id": id, "result": {"content": [{"type": "text", "text": "x" * (20 << 20)}]}})
    elif name == "die":
        sys.stderr.write("out of cheese, s3cret\n")
        sys.exit(3)
    elif name == "silent_die":
        os._exit(0)
    elif name == "grow":
        open("grown", "w").close()
        send({"method": "notifications/tools/list_changed"})
        result(id, "grown")
    elif name == "progress":
        for n in range(1, 6):
            time.sleep(0.2)
            send({"method": "notifications/progress", "params": {"progressToken": token, "progress": n, "total": 5}})
        result(id, "done")
    elif name == "ask":
        schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
        answer = ask({"message": "Who?", "requestedSchema": schema})["result"]
        result(id, f"{answer['action']} {json.dumps(answer.get('content'))}")
    elif name == "ask_by_address":
        error = ask({"mode": "url", "message": "Go", "url": "https://example.org", "elicitationId": "e"})["error"]
        result(id, error["message"])
    elif name == "request":
        result(id, request(arguments["method"], arguments["params"])["error"]["message"])
    elif name == "tell":
        send({"method": "notifications/progress", "params": {"progressToken": token, "progress": 0.5, "message": "with\ns3cret"}})
        until("told")
        result(id, "told")
    elif name == "flood":
        for n in range(1, 1001):
            send({"method": "notifications/progress", "params": {"progressToken": token, "progress": n, "total": 1000}})
        until("flooded")
        result(id, "flooded")


if "--broken" in sys.argv:
    sys.stderr.write("no configuration\n")
    sys.exit(2)
with open("starts", "a") as starts:
    starts.write("x")
print("a line that is no message")
for line in sys.stdin:
    message = json.loads(line)
    id, method, params = message.get("id"), message["method"], message.get("params", {})
    if method == "initialize":
        about = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {"listChanged": True}}}
        send({"id": id, "result": {**about, "serverInfo": {"name": "fake", "version": "1"}}})
    elif method == "tools/list":
        send({"id": id, "result": {"tools": listed()}})
    elif method == "tools/call":
        call(id, params["name"], params.get("arguments", {}), params.get("_meta", {}).get("progressToken"))
    elif method == "notifications/cancelled":
        open("cancelled", "w").close()
    elif id is not None:
        send({"id": id, "error": {"code": -32601, "message": "unknown method"}})
