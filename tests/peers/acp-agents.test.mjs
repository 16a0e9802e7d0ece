// Background sessions that a model starts, in an editor that talks to the session that they work for.
import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import test from "node:test";
import { Editor, faults, ground, short } from "./acp.mjs";
import { atEnd } from "./start.mjs";

/** A model on loopback whose answers follow from the messages: a text, or the name and arguments of a call. */
async function model(t, answer) {
  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const { messages } = JSON.parse(Buffer.concat(chunks));
    const said = answer(messages);
    const calls = [{ index: 0, id: `c${messages.length}`, type: "function", function: said }];
    const delta = typeof said === "string" ? { content: said } : { tool_calls: calls };
    const parts = [
      { choices: [{ index: 0, delta }] },
      { choices: [{ index: 0, delta: {}, finish_reason: typeof said === "string" ? "stop" : "tool_calls" }] },
    ];
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const part of parts) response.write(`data: ${JSON.stringify(part)}\n\n`);
    response.end("data: [DONE]\n\n");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  atEnd(t, () => server.closeAllConnections() ?? server.close());
  return `http://127.0.0.1:${server.address().port}/v1`;
}

const call = (name, args) => ({ name, arguments: JSON.stringify(args) });

test("an agent is a row of its parent, where its questions are asked", async (t) => {
  const words = ({ content }) => (typeof content === "string" ? content : content.map(({ text }) => text).join(""));
  const url = await model(t, (messages) => {
    const first = words(messages.find(({ role }) => role === "user"));
    const answers = messages.filter(({ role }) => role === "assistant").length;
    if (!first.startsWith("Build")) return [call("run_command", { command: "echo one" }), "Written."][answers];
    return [call("start_agent", { task: "Write it.", name: "Writer" }), call("wait_agents", {}), "Joined."][answers];
  });
  const on = await ground(t, {});
  await writeFile(on.at("config.toml"), 'ownTools = ["start_agent", "wait_agents"]\ntitles = "request"\n');
  const env = { THREADHOLD_CONFIG: on.at("config.toml") };
  const args = [...on.args.slice(0, 3), "--model", "openai-chat:m", "--base-url", url];
  const editor = new Editor(t, args, env);
  await editor.initialize();
  const { sessionId } = await editor.call("session/new", { cwd: on.workspace, mcpServers: [] });
  const asked = [];
  editor.handlers["session/request_permission"] = ({ sessionId, toolCall }) => {
    asked.push([sessionId, toolCall.title]);
    return { outcome: { outcome: "selected", optionId: "allowOnce" } };
  };
  assert.equal((await editor.prompt(sessionId, "Build it.")).stopReason, "end_turn");
  assert.deepEqual(asked, [[sessionId, "`echo one`"]]);
  const rows = (updates) => {
    const [row] = updates.filter(({ title }) => title === "Agent: Writer");
    const { sessionId: agent } = row._meta.threadhold;
    return updates.filter(({ toolCallId }) => toolCallId === agent).map(({ title, status }) => [title, status]);
  };
  const live = rows(editor.updates(sessionId));
  assert.deepEqual(live.at(-1), ["Agent: Writer", "completed"]);
  assert.ok(
    live.some(([, status]) => status === "in_progress"),
    JSON.stringify(live),
  );
  assert.equal(short(editor.updates(sessionId)).at(-1), "agent: Joined.");
  await editor.leave();

  const other = new Editor(t, args, env);
  await other.initialize();
  await other.call("session/load", { sessionId, cwd: on.workspace, mcpServers: [] });
  assert.deepEqual(rows(other.updates(sessionId)), [["Agent: Writer", "completed"]]);
  const [row] = other.updates(sessionId).filter(({ title }) => title === "Agent: Writer");
  await other.call("session/load", { sessionId: row._meta.threadhold.sessionId, cwd: on.workspace, mcpServers: [] });
  const own = short(other.updates(row._meta.threadhold.sessionId));
  assert.deepEqual(own, ["user: Write it.", "call 1: `echo one`", "call 1: completed", "agent: Written."]);
  assert.deepEqual([...faults(editor.log), ...faults(other.log)], []);
});
