"""Counts what the nine transcripts of the corpus hold, with nothing but a JSON parser.

It shares no code and no idea of structure with the importer. `crates/import/src/tests.rs` holds the numbers that it prints:

    python3 tests/corpus_counts.py <corpus>/transcripts

A message is one of: a user's words, one model call, one tool result, one system row. A turn is a run of user messages
and all that follows. A round is a model call that said something or asked for something. A call is an orphan when no
result with its id stands before the next model call or the next user message.
"""

import json
import sys
from pathlib import Path

# Each reader yields rows in order: ("system",), ("user",), ("assistant", text, [call ids]), ("result", call id).


# What Claude Code writes for a command that printed nothing.
NO_OUTPUT = "<local-command-stdout></local-command-stdout>"


def records(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def claude_code(path):
    """One model call is all assistant records with one message id."""
    rows, calls = [], {}
    for record in records(path):
        if record["type"] not in ("user", "assistant"):
            continue
        content = record["message"]["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        text = "".join(block.get("text", "") for block in blocks if block["type"] == "text")
        if record["type"] == "assistant":
            key = record["message"]["id"]
            if key not in calls:
                calls[key] = ["assistant", "", []]
                rows.append(calls[key])
            calls[key][1] += text
            calls[key][2] += [block["id"] for block in blocks if block["type"] == "tool_use"]
        else:
            rows += [("result", block["tool_use_id"]) for block in blocks if block["type"] == "tool_result"]
            if any(block["type"] != "tool_result" for block in blocks) and text != NO_OUTPUT:
                rows.append(("user",))
    return rows


def pi(path):
    for record in records(path):
        if record["type"] != "message":
            continue
        message = record["message"]
        if message["role"] == "user":
            yield ("user",)
        elif message["role"] == "toolResult":
            yield ("result", message["toolCallId"])
        else:
            blocks = message["content"]
            text = "".join(block["text"] for block in blocks if block["type"] == "text")
            yield ("assistant", text, [block["id"] for block in blocks if block["type"] == "toolCall"])


def vscode_chat(path):
    for request in json.loads(path.read_text(encoding="utf-8"))["requests"]:
        yield ("user",)
        metadata = request["result"]["metadata"]
        for turn in metadata["toolCallRounds"]:
            ids = [call["id"] for call in turn["toolCalls"]]
            yield ("assistant", turn["response"], ids)
            yield from (("result", key) for key in ids if key in metadata["toolCallResults"])


def chatreplay(path):
    """Each request carries the whole history, so the last one and its answer hold everything but the system texts."""
    prompts = json.loads(path.read_text(encoding="utf-8"))["prompts"]
    requests = [log for prompt in prompts for log in prompt["logs"] if log["kind"] == "request"]
    text_of = lambda message: "".join(part["text"] for part in message["content"] if part["type"] == 1)
    histories = [request["requestMessages"]["messages"] for request in requests]
    roles = [[(m["role"], text_of(m)) for m in history if m["role"] != 0] for history in histories]
    assert all(roles[-1][: len(earlier)] == earlier for earlier in roles), "a request does not extend the one before"
    for _ in {text_of(m) for history in histories for m in history if m["role"] == 0}:
        yield ("system",)
    for message in histories[-1]:
        if message["role"] == 1:
            yield ("user",)
        elif message["role"] == 2:
            yield ("assistant", text_of(message), [call["id"] for call in message.get("toolCalls", [])])
        elif message["role"] == 3:
            yield ("result", message["toolCallId"])
    yield ("assistant", "".join(requests[-1]["response"]["message"]), [])


def swe_agent(path):
    for row in json.loads(path.read_text(encoding="utf-8"))["history"]:
        if row["role"] == "tool":
            yield ("result", row["tool_call_ids"][0])
        elif row["role"] == "assistant":
            yield ("assistant", row["content"], [call["id"] for call in row["tool_calls"]])
        else:
            yield (row["role"],)


def codex(path):
    """A request is what was typed while no task ran, up to the Enter from which a task came."""
    typed = running = False
    for record in records(path):
        kind = record["kind"]
        if kind == "key_event" and not running and "kind: Press" in record["event"]:
            typed = "code: Enter" in record["event"]
        elif kind == "codex_event":
            event = record["payload"]["msg"]
            if event["type"] == "task_started":
                assert typed, "a task without a request"
                typed, running = False, True
                yield ("user",)
            elif event["type"] == "task_complete":
                running = False
            elif event["type"] == "agent_message":
                yield ("assistant", event["message"], [])


def cline(path):
    session = json.loads(path.read_text(encoding="utf-8"))
    assert session["system_prompt"]
    yield ("system",)
    for message in session["messages"]:
        blocks = message["content"]
        if message["role"] == "assistant":
            text = "".join(block["text"] for block in blocks if block["type"] == "text")
            yield ("assistant", text, [block["id"] for block in blocks if block["type"] == "tool_use"])
            continue
        yield from (("result", block["tool_use_id"]) for block in blocks if block["type"] == "tool_result")
        if any(block["type"] != "tool_result" for block in blocks):
            yield ("user",)


def openhands(path):
    """By the text that was sent, which the importer reads where there is nothing better: a call is one of the answer before."""
    log = json.loads(path.read_text(encoding="utf-8"))
    answer = log["raw_response"]["choices"][0]["message"]
    calls = 0
    for message in [*log["messages"], answer]:
        text = message["content"]
        if message["role"] == "assistant":
            calls += 1
            assert text.count("<function=") == 1
            yield ("assistant", text, [calls])
        elif text.startswith("EXECUTION RESULT of ["):
            yield ("result", calls)
        else:
            yield (message["role"],)


def count(rows):
    rows = list(rows)
    kinds = [row[0] for row in rows]
    turns = sum(kind == "user" and (at == 0 or kinds[at - 1] != "user") for at, kind in enumerate(kinds))
    rounds = sum(row[0] == "assistant" and bool(row[1].strip() or row[2]) for row in rows)
    calls = orphans = 0
    for at, row in enumerate(rows):
        if row[0] != "assistant":
            continue
        answered = []
        for later in rows[at + 1 :]:
            if later[0] in ("assistant", "user"):
                break
            answered += later[1:]
        calls += len(row[2])
        orphans += sum(call not in answered for call in row[2])
    return [len(rows), *map(kinds.count, ("user", "assistant")), turns, rounds, calls, kinds.count("result"), orphans]


FILES = [
    ("claude-code-session-four.jsonl", claude_code),
    ("vscode-claude-session.jsonl", claude_code),
    ("pi-large-session.jsonl", pi),
    ("vscode-copilot-chat-mcp.json", vscode_chat),
    ("vscode-copilot.chatreplay.json", chatreplay),
    ("sweagent-marshmallow-fc.traj", swe_agent),
    ("codex-tui-oss-story.jsonl", codex),
    ("cline-session.messages.json", cline),
    ("openhands-llm-log-deepseek.json", openhands),
]

if __name__ == "__main__":
    print("file: messages users assistants turns rounds calls results orphans")
    for name, reader in FILES:
        print(f"{name}:", *count(reader(Path(sys.argv[1]) / name)))
