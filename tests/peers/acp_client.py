"""Drives the agent with the SDK for Python: whole turns, approvals, a compaction, a cancellation, a list and a replay in
another process, and a turn in a third that resumes. Prints what it saw as JSON.

Usage: acp_client.py FOLDER COMMAND [ARGUMENT...]
"""

import asyncio
import json
import sys

from acp import PROTOCOL_VERSION, spawn_agent_process
from acp.schema import ClientCapabilities, RequestPermissionResponse, TextContentBlock

folder, command, *arguments = sys.argv[1:]


class Editor:
    """Answers questions with these kinds of options, in order."""

    choices = ["allow_once", "reject_once", "allow_always"]

    def __init__(self):
        self.asked = []
        self.kinds = []
        self.texts = asyncio.Event()

    def on_connect(self, conn):
        pass

    async def request_permission(self, session_id, tool_call, options, **kwargs):
        kind = self.choices[len(self.asked)]
        self.asked.append([tool_call.title, kind])
        option = next(option for option in options if option.kind == kind)
        return RequestPermissionResponse(outcome={"outcome": "selected", "optionId": option.option_id})

    async def session_update(self, session_id, update, **kwargs):
        self.kinds.append((update.session_update, getattr(update, "status", None)))
        if update.session_update == "usage_update":
            self.texts.set()


def agent(editor, arguments=arguments):
    return spawn_agent_process(editor, command, *arguments)


def text(words):
    return [TextContentBlock(type="text", text=words)]


async def begin(conn):
    capabilities = ClientCapabilities(session={"compaction": {}})
    return await conn.initialize(protocol_version=PROTOCOL_VERSION, client_capabilities=capabilities)


async def main():
    seen = {}
    editor = Editor()
    async with agent(editor) as (conn, _):
        told = (await begin(conn)).agent_capabilities
        seen["capabilities"] = {
            "load": told.load_session,
            "list": told.session_capabilities.list is not None,
            "resume": told.session_capabilities.resume is not None,
        }
        session = (await conn.new_session(cwd=folder, mcp_servers=[])).session_id
        turns = [await conn.prompt(session_id=session, prompt=text(words)) for words in "ABCD"]
        seen["turns"] = [turn.stop_reason for turn in turns]
        seen["asked"] = editor.asked
        made = [status for kind, status in editor.kinds if kind == "compaction_update"]
        seen["compactions"] = made[-1] if made else None
    other = Editor()
    mute = arguments.copy()
    mute[mute.index("--model") + 1] = f"scripted:{folder}/never.json"
    async with agent(other, mute) as (conn, _):
        await begin(conn)
        seen["listed"] = len((await conn.list_sessions(cwd=folder)).sessions)
        await conn.load_session(cwd=folder, session_id=session, mcp_servers=[])
        kinds = [kind for kind, _ in other.kinds]
        compaction = kinds.index("compaction_update") if "compaction_update" in kinds else -1
        seen["replayed"] = {
            "user": kinds.count("user_message_chunk"),
            "compactions": compaction >= 0,
            "isBetween": "user_message_chunk" in kinds[compaction:],
        }
        other.texts.clear()
        prompt = asyncio.ensure_future(conn.prompt(session_id=session, prompt=text("E")))
        await other.texts.wait()
        await conn.cancel(session_id=session)
        seen["cancelled"] = (await prompt).stop_reason
    third = Editor()
    speaks = arguments.copy()
    speaks[speaks.index("--model") + 1] = f"scripted:{folder}/speaks.json"
    async with agent(third, speaks) as (conn, _):
        await begin(conn)
        await conn.resume_session(cwd=folder, session_id=session, mcp_servers=[])
        stop = (await conn.prompt(session_id=session, prompt=text("F"))).stop_reason
        kinds = {kind for kind, _ in third.kinds if kind.endswith(("_chunk", "tool_call"))}
        seen["resumed"] = {"stop": stop, "kinds": sorted(kinds)}
    print(json.dumps(seen))


asyncio.run(main())
