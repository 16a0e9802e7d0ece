// Version 2 of the protocol, a preview, where an editor asks for it: line by line against its published schema, and with
// the SDK for TypeScript.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import test from "node:test";
import * as acp from "@agentclientprotocol/sdk/experimental/v2";
import { Editor, faults, ground } from "./acp.mjs";
import { Recording } from "./recording.mjs";
import { atEnd } from "./start.mjs";

const call = (name, args, say) => ({ say, call: { name, arguments: args } });
const text = (words) => [{ type: "text", text: words }];
const info = { name: "test", version: "1" };

/** An agent that speaks version 2, with a session of the workspace. */
async function begun(t, on, args = []) {
  const editor = new Editor(t, [...on.args, ...args]);
  const introduced = await editor.call("initialize", { protocolVersion: 2, info });
  const opened = await editor.call("session/new", { cwd: on.workspace });
  return { editor, introduced, opened, sessionId: opened.sessionId };
}

/** Updates in short: states, rows and their ends, texts. */
function short(updates) {
  const lines = [];
  for (const { sessionUpdate: kind, ...update } of updates) {
    if (kind === "state_update") lines.push([update.state, update.stopReason].filter(Boolean).join(" "));
    else if (kind === "user_message") lines.push(`user: ${update.content[0].text}`);
    else if (kind.endsWith("_chunk")) {
      const who = kind.split("_")[0];
      const last = lines.at(-1) ?? "";
      if (last.startsWith(`${who}: `)) lines[lines.length - 1] += update.content.text;
      else lines.push(`${who}: ${update.content.text}`);
    } else if (kind === "tool_call_update") {
      if (update.title) lines.push(`call: ${update.title}`);
      if (update.content?.[0]?.type === "diff") lines.push(`diff: ${update.content[0].changes[0].operation}`);
      if (update.status) lines.push(`call: ${update.status}`);
    } else if (kind === "plan_update") lines.push(`plan: ${update.plan.entries.map(({ content }) => content)}`);
    else if (kind === "compaction_update") lines.push(`compaction: ${update.status}`);
  }
  return lines;
}

/** Sends a prompt and waits until the session is idle. Returns what was told meanwhile. */
async function prompt(editor, sessionId, words) {
  const from = editor.log.length;
  const { messageId } = await editor.call("session/prompt", { sessionId, prompt: text(words) });
  assert.equal(typeof messageId, "string");
  await idle(editor, sessionId, from);
  return short(editor.updates(sessionId, from));
}

function idle(editor, sessionId, from) {
  const isIdle = ({ sessionUpdate, state }) => sessionUpdate === "state_update" && state === "idle";
  return editor.until(() => editor.updates(sessionId, from).some(isIdle));
}

test("version 2 is spoken where the editor asks for it", async (t) => {
  const on = await ground(t, { then: "echo" });
  const { introduced, opened } = await begun(t, on);
  assert.deepEqual([introduced.protocolVersion, introduced.info.name], [2, "threadhold"]);
  const kinds = opened.configOptions.map(({ configId, category, currentValue }) => [configId, category, currentValue]);
  assert.deepEqual(kinds, [
    ["mode", "mode", "agent"],
    ["effort", "thought_level", "default"],
    ["policy", "_compaction", "default"],
  ]);
  // A client of version 1 has no `info`, and is answered in version 1 whatever it asks for.
  const first = new Editor(t, on.args);
  const { protocolVersion, agentInfo } = await first.call("initialize", { protocolVersion: 99, clientCapabilities: {} });
  assert.deepEqual([protocolVersion, agentInfo.name], [1, "threadhold"]);
});

test("a turn of version 2 tells its states, and is replayed in another process", async (t) => {
  const model = {
    answers: [
      call("todo", { add: ["Look"] }, "I plan."),
      call("edit_file", { path: "a.txt", old: "two", new: "zwei" }, "I edit."),
      { say: "Done." },
    ],
  };
  const on = await ground(t, model, { "a.txt": "one\ntwo\n" });
  const { editor, sessionId } = await begun(t, on);
  const asked = [];
  editor.handlers["session/request_permission"] = ({ title, subject, options }) => {
    asked.push([title, subject.type, subject.toolCall.content, options.map(({ kind }) => kind)]);
    return { outcome: { outcome: "selected", optionId: "allowOnce" } };
  };
  const live = await prompt(editor, sessionId, "Change it.");
  const path = join(on.workspace, "a.txt");
  assert.equal(await readFile(path, "utf8"), "one\nzwei\n");
  const patch = `diff --git ${path} ${path}\n--- ${path}\n+++ ${path}\n@@ -1,2 +1,2 @@\n one\n-two\n+zwei\n`;
  const change = { operation: "modify", path, fileType: "text" };
  const diff = { type: "diff", changes: [change], patch: { format: "git_patch", text: patch } };
  assert.deepEqual(asked, [["Edit a.txt", "tool_call", [diff], ["allow_once", "allow_always", "reject_once", "reject_always"]]]);
  const turn = [
    "agent: I plan.",
    "call: todo",
    "call: completed",
    "agent: I edit.",
    "call: Edit a.txt",
    "diff: modify",
    "requires_action",
    "running",
    "call: in_progress",
    "call: completed",
    "agent: Done.",
  ];
  const isPlan = (line) => line.startsWith("plan");
  assert.deepEqual(live.filter(isPlan), ["plan: Look"]);
  assert.deepEqual(
    live.filter((line) => !isPlan(line)),
    ["running", "user: Change it.", ...turn, "idle end_turn"],
  );
  assert.equal(await editor.leave(), 0);

  const other = new Editor(t, on.args);
  await other.call("initialize", { protocolVersion: 2, info });
  const { sessions } = await other.call("session/list", { cwd: on.workspace });
  assert.deepEqual(
    sessions.map(({ sessionId }) => sessionId),
    [sessionId],
  );
  const resumed = { sessionId, cwd: on.workspace };
  await other.call("session/resume", { ...resumed, replayFrom: { type: "start" } });
  const replayed = short(other.updates(sessionId)).filter((line) => !isPlan(line));
  const isLive = /^(diff|requires_action|running|call: in_progress)/;
  // The state comes last, before the answer.
  assert.deepEqual(replayed, ["user: Change it.", ...turn.filter((line) => !isLive.test(line)), "idle"]);
  const from = other.log.length;
  await other.call("session/resume", resumed);
  assert.deepEqual(short(other.updates(sessionId, from)), ["idle"]);
  const bad = await other.ask("session/resume", { ...resumed, replayFrom: { type: "cursor" } });
  assert.equal(bad.error.code, -32602);
  assert.deepEqual(
    [
      faults(editor.log, 2),
      faults(
        other.log.filter(({ message }) => message.id !== bad.id),
        2,
      ),
    ],
    [[], []],
  );
});

test("a turn of version 2 is cancelled, and prompts wait behind it", async (t) => {
  const on = await ground(t, { answers: [{ behave: "never" }, { say: "Second." }] });
  const { editor, sessionId } = await begun(t, on);
  const from = editor.log.length;
  await editor.call("session/prompt", { sessionId, prompt: text("One.") });
  const second = editor.call("session/prompt", { sessionId, prompt: text("Two.") });
  // The first was answered, so its id cancels nothing; the turn goes on until the session is cancelled.
  const [{ message }] = editor.log.filter(({ message }) => message.method === "session/prompt");
  editor.send({ method: "$/cancel_request", params: { requestId: message.id } });
  editor.send({ method: "session/cancel", params: { sessionId } });
  await assert.rejects(second, { message: "the prompt was cancelled before it was sent" });
  await idle(editor, sessionId, from);
  assert.deepEqual(short(editor.updates(sessionId, from)), ["running", "user: One.", "idle cancelled"]);
  assert.deepEqual(await prompt(editor, sessionId, "Three."), ["running", "user: Three.", "agent: Second.", "idle end_turn"]);
  assert.deepEqual(faults(editor.log, 2), []);
});

test("modes are an option of version 2, and commands have states", async (t) => {
  const on = await ground(t, {
    answers: [{ say: "Hello." }, call("write_file", { path: "b.txt", text: "x" }), { say: "A plan." }, { behave: "error" }],
  });
  const { editor, sessionId } = await begun(t, on);
  await prompt(editor, sessionId, "Hello?");
  const set = (configId, value) => editor.call("session/set_config_option", { sessionId, configId, type: "id", value });
  const current = ({ configOptions }) => configOptions.map(({ currentValue }) => currentValue);
  assert.deepEqual(current(await set("mode", "plan")), ["plan", "default", "default"]);
  assert.deepEqual(current(await set("effort", "low")), ["plan", "low", "default"]);
  const planned = await prompt(editor, sessionId, "Make b.txt.");
  assert.deepEqual(planned.slice(2), ["call: Write b.txt", "call: failed", "agent: A plan.", "idle end_turn"]);
  const pinned = await prompt(editor, sessionId, "/pin Keep it.");
  assert.deepEqual(pinned, ["running", "user: /pin Keep it.", "agent: Pinned. The session has 1 pin.", "idle end_turn"]);
  for (const method of ["session/load", "session/set_mode", "authenticate", "session/nothing"]) {
    assert.equal((await editor.ask(method, { sessionId })).error.code, -32601, method);
  }
  const known = editor.log.filter(({ message }) => !/load|set_mode|authenticate|nothing/.test(message.method));
  assert.deepEqual(faults(known, 2), []);
});

test("the SDK for TypeScript drives a turn of version 2", async (t) => {
  const on = await ground(t, { answers: [call("read_file", { path: "a.txt" }, "Let me look."), { say: "Done." }] }, { "a.txt": "one\n" });
  const recording = new Recording(on);
  const [program, ...args] = recording.command(on.args);
  const agent = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
  const ended = once(agent, "exit");
  atEnd(t, () => agent.kill() && ended);
  const stream = acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));
  const seen = [];
  const client = acp.client({ name: "test" });
  let stopped;
  const stop = new Promise((resolve) => (stopped = resolve));
  client.onNotification("session/update", ({ params: { update } }) => {
    seen.push(update.sessionUpdate);
    if (update.sessionUpdate === "state_update" && update.state === "idle") stopped(update.stopReason);
  });
  await client.connectWith(stream, async (peer) => {
    await peer.request("initialize", { protocolVersion: acp.PROTOCOL_VERSION, info, capabilities: {} });
    const { sessionId } = await peer.request("session/new", { cwd: on.workspace });
    await peer.request("session/prompt", { sessionId, prompt: text("Read it.") });
    assert.equal(await stop, "end_turn");
  });
  for (const kind of ["user_message", "agent_message_chunk", "tool_call_update", "usage_update", "state_update"]) {
    assert.ok(seen.includes(kind), kind);
  }
  recording.isSound(2);
});
