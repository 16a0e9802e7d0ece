// Sessions of the agent beside other clients, and servers that an editor gives with a session.
import assert from "node:assert/strict";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { Editor, faults, ground, short } from "./acp.mjs";
import { folder, Sidecar } from "./sidecar.mjs";
import { npm } from "./start.mjs";

/** The messages of the newest prompt in a folder of dumps, as a model reads them. */
async function newest(dumps) {
  const names = (await readdir(dumps)).filter((name) => name.endsWith("-turn.json")).sort();
  const { messages } = JSON.parse(await readFile(join(dumps, names.at(-1)), "utf8"));
  return messages.map(({ sources, ...message }) => message);
}

test("a session goes on between our own protocol and the agent's with the same messages", async (t) => {
  const at = folder(t);
  const dumps = (name) => join(at, name);
  const tools = [{ name: "look", description: "Looks.", inputSchema: { type: "object" } }];
  const own = await Sidecar.start(t, [{ say: "One." }, { say: "Two." }], {}, at, ["--dump-prompts", dumps("a")]);
  const sessionId = await own.open({ tools });
  await own.turn(sessionId, "First");
  await own.turn(sessionId, "Second");
  await own.end();
  const first = await newest(dumps("a"));

  await writeFile(join(at, "model.json"), JSON.stringify({ answers: [{ say: "Three." }] }));
  const args = ["acp", "--storage", join(at, "store"), "--model", `scripted:${join(at, "model.json")}`];
  const editor = new Editor(t, [...args, "--dump-prompts", dumps("b")]);
  await editor.initialize();
  await editor.call("session/load", { sessionId, cwd: at, mcpServers: [] });
  assert.deepEqual(short(editor.updates(sessionId)), ["user: First", "agent: One.", "user: Second", "agent: Two."]);
  await editor.prompt(sessionId, "Third");
  await editor.leave();
  const second = await newest(dumps("b"));
  assert.deepEqual(second.slice(0, first.length), first);
  assert.deepEqual(
    second.slice(first.length).map(({ role, content }) => [role, content]),
    [
      ["assistant", "Two."],
      ["user", "Third"],
    ],
  );

  const again = await Sidecar.start(t, [{ say: "Four." }], {}, at, ["--dump-prompts", dumps("c")]);
  await again.open({ sessionId, tools });
  await again.turn(sessionId, "Fourth");
  const third = await newest(dumps("c"));
  assert.deepEqual(third.slice(0, second.length), second);
  await again.end();
  assert.deepEqual(faults(editor.log), []);
});

test("servers of the editor bring their tools, over approval", async (t) => {
  const answers = [
    { call: { name: "files__read_text_file", arguments: { path: "PATH" } } },
    { say: "Done." },
  ];
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
