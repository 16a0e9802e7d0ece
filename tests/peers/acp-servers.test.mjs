// What servers bring into a prompt over ACP: their prompts as slash commands, their resources as attachments.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Editor, faults, ground } from "./acp.mjs";
import { npm } from "./start.mjs";

test("prompts of servers are commands, and resources are attached by their names", async (t) => {
  const on = await ground(t, { answers: [{ say: "first" }, { say: "second" }] });
  const [command, ...args] = [...npm("mcp-server-everything"), "stdio"];
  const editor = new Editor(t, on.args);
  await editor.initialize();
  const mcpServers = [{ name: "all", command, args, env: [] }];
  const { sessionId } = await editor.call("session/new", { cwd: on.workspace, mcpServers });
  const has = ({ method, params }) =>
    method === "session/update" && params.update.availableCommands?.some(({ name }) => name === "all:args-prompt");
  const { params } = await editor.until(has);
  const offered = params.update.availableCommands.find(({ name }) => name === "all:args-prompt");
  assert.deepEqual(offered.input, { hint: "city state" });
  await editor.prompt(sessionId, "/all:args-prompt Bern");
  await editor.prompt(sessionId, "Read @all:demo://resource/static/document/features.md, please.");
  const failed = await editor.ask("session/prompt", { sessionId, prompt: [{ type: "text", text: "@all:demo://none" }] });
  assert.match(failed.error.message, /the server answered with an error/);
  assert.equal(await editor.leave(), 0);
  const other = new Editor(t, on.args);
  await other.initialize();
  await other.call("session/load", { sessionId, cwd: on.workspace, mcpServers: [] });
  const sent = other.updates(sessionId).filter(({ sessionUpdate }) => sessionUpdate === "user_message_chunk");
  assert.match(sent[0].content.text, /Bern/);
  assert.equal(sent[1].content.text, "Read @all:demo://resource/static/document/features.md, please.");
  assert.equal(sent[2].content.resource.uri, "demo://resource/static/document/features.md");
  assert.deepEqual([...faults(editor.log), ...faults(other.log)], []);
});
