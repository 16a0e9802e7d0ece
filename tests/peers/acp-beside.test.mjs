// Servers that an editor gives with a session of the agent.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { Editor, faults, ground, short } from "./acp.mjs";
import { npm } from "./start.mjs";

test("servers of the editor bring their tools, over approval", async (t) => {
  const answers = [{ call: { name: "files__read_text_file", arguments: { path: "PATH" } } }, { say: "Done." }];
  const on = await ground(t, { answers }, { "a.txt": "one\n" });
  const path = join(on.workspace, "a.txt");
  await writeFile(on.at("model.json"), JSON.stringify({ answers }).replace("PATH", path));
  const [command, ...args] = npm("mcp-server-filesystem");
  const editor = new Editor(t, on.args);
  await editor.initialize();
  const server = { name: "files", command, args: [...args, on.workspace], env: [] };
  const { sessionId } = await editor.call("session/new", { cwd: on.workspace, mcpServers: [server] });
  const asked = [];
  editor.handlers["session/request_permission"] = ({ toolCall }) => {
    asked.push(toolCall.title);
    return { outcome: { outcome: "selected", optionId: "allowOnce" } };
  };
  assert.equal((await editor.prompt(sessionId, "Read it.")).stopReason, "end_turn");
  assert.deepEqual(asked, ["files__read_text_file"]);
  const lines = short(editor.updates(sessionId));
  assert.deepEqual(lines, ["call 1: files__read_text_file", "call 1: completed", "agent: Done."]);
  const [ended] = editor.updates(sessionId).filter(({ status }) => status === "completed");
  assert.match(JSON.stringify(ended.content), /one/);
  const sse = { type: "sse", name: "old", url: "http://127.0.0.1:1/sse", headers: [] };
  const { error } = await editor.ask("session/new", { cwd: on.workspace, mcpServers: [sse] });
  assert.match(error.message, /uses SSE, which is not supported/);
  assert.deepEqual(faults(editor.log), []);
});
