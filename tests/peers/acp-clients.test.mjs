// Clients of others: acpx, the SDK for Python and the SDK for TypeScript.
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import * as acp from "@agentclientprotocol/sdk";
import { ground } from "./acp.mjs";
import { Recording } from "./recording.mjs";
import { atEnd, npm, PYTHON } from "./start.mjs";

const run = promisify(execFile);
const call = (name, args, say) => ({ say, call: { name, arguments: args } });
const quoted = (words) => words.map((word) => `'${word}'`).join(" ");

/** Runs acpx with our binary. Its state is in the test's folder. Returns the messages that it printed. */
async function acpx(on, recording, options, words) {
  const [node, script] = npm("acpx");
  const agent = quoted(recording.command(on.args));
  const args = [script, "--agent", agent, "--cwd", on.workspace, "--format", "json", "--json-strict", ...options, ...words];
  const env = { ...process.env, HOME: on.folder, USERPROFILE: on.folder };
  // Its exit code says whether it refused something.
  const { stdout } = await run(node, args, { env, cwd: on.workspace }).catch((error) => error);
  return stdout
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}

const answersOf = (messages) => messages.map(({ result }) => result?.stopReason).filter(Boolean);

test("acpx allows and rejects, each in a process of its own", async (t) => {
  const edit = call("edit_file", { path: "a.txt", old: "two", new: "zwei" });
  const on = await ground(t, { answers: [edit, { say: "Done." }] }, { "a.txt": "one two\n" });
  const recording = new Recording(on);
  const file = () => readFile(join(on.workspace, "a.txt"), "utf8");
  const denied = await acpx(on, recording, ["--deny-all"], ["exec", "Change it."]);
  assert.deepEqual([answersOf(denied), await file()], [["end_turn"], "one two\n"]);
  const allowed = await acpx(on, recording, ["--approve-all"], ["exec", "Change it."]);
  assert.deepEqual([answersOf(allowed), await file()], [["end_turn"], "one zwei\n"]);
  assert.deepEqual(recording.openings(), [["session/new"], ["session/new"]]);
  recording.isSound();
});

test("acpx cancels in the middle and goes on in another process", async (t) => {
  const on = await ground(t, { answers: [{ behave: "never" }] });
  const recording = new Recording(on);
  const script = (model) => writeFile(on.at("model.json"), JSON.stringify(model));
  await acpx(on, recording, [], ["sessions", "new"]);
  await recording.ended();
  // Its own process keeps the agent for a second after a turn, so that another one can cancel the turn.
  const prompted = acpx(on, recording, ["--ttl", "1"], ["prompt", "Wait."]);
  await recording.said(({ params }) => params?.update?.sessionUpdate === "usage_update");
  await acpx(on, recording, [], ["cancel"]);
  assert.deepEqual(answersOf(await prompted), ["cancelled"]);
  await recording.ended();

  await script({ answers: [call("run_command", { command: "echo one" }), { say: "Again." }] });
  const again = await acpx(on, recording, ["--approve-all", "--ttl", "1"], ["prompt", "Go on."]);
  assert.deepEqual(answersOf(again), ["end_turn"]);
  await recording.ended();
  const listed = await acpx(on, recording, [], ["sessions", "list"]);
  assert.deepEqual(
    listed.flatMap(({ sessions }) => sessions ?? []).map(({ cwd, title }) => [cwd, title]),
    [[on.workspace, "Wait."]],
  );
  // A client that cannot resume a session begins another one without a word.
  assert.deepEqual(recording.openings(), [["session/new"], ["session/resume"], ["session/resume"], []]);
  recording.isSound();
});

test("acpx chooses one of several models", async (t) => {
  const on = await ground(t, { answers: [{ say: "From the first." }] });
  await writeFile(on.at("other.json"), JSON.stringify({ answers: [{ say: "From the second." }] }));
  const other = `scripted:${on.at("other.json")}`;
  const recording = new Recording(on);
  const both = { ...on, args: [...on.args, "--also-model", other] };
  const said = async (options) => {
    const lines = await acpx(both, recording, options, ["exec", "Hello?"]);
    return lines
      .map(({ params }) => params?.update)
      .filter((update) => update?.sessionUpdate === "agent_message_chunk")
      .map(({ content }) => content.text)
      .join("");
  };
  assert.equal(await said([]), "From the first.");
  assert.equal(await said(["--model", other]), "From the second.");
  recording.isSound();
});

test("the SDK for Python drives whole turns, with a compaction in its place", async (t) => {
  const long = (name) => Array.from({ length: 260 }, (_, at) => `${name} says line ${at} of it`).join("\n");
  const model = {
    answers: [
      call("read_file", { path: "a.txt" }, "Let me look."),
      call("edit_file", { path: "a.txt", old: "two", new: "zwei" }, "I edit."),
      call("edit_file", { path: "a.txt", old: "one", new: "eins" }, "I edit again."),
      call("run_command", { command: "echo one" }),
      call("run_command", { command: "echo two" }),
      { say: long("three") },
      { say: long("four") },
      { say: long("five") },
    ],
    then: "echo",
  };
  const speaks = JSON.stringify({ answers: [{ say: "F." }] });
  const never = JSON.stringify({ answers: [{ behave: "never" }] });
  const on = await ground(t, model, { "a.txt": "one two\n", "never.json": never, "speaks.json": speaks });
  const recording = new Recording(on);
  const script = fileURLToPath(new URL("acp_client.py", import.meta.url));
  const args = [...on.args, "--set", "threshold=5000", "--set", "reservedOutput=500", "--set", "maxSummaryTokens=500"];
  const { stdout } = await run(PYTHON, [script, on.workspace, ...recording.command(args)]);
  const seen = JSON.parse(stdout);
  assert.deepEqual(seen, {
    capabilities: { load: true, list: true, resume: true },
    turns: ["end_turn", "end_turn", "end_turn", "end_turn"],
    asked: [
      ["Edit a.txt", "allow_once"],
      ["Edit a.txt", "reject_once"],
      ["`echo one`", "allow_always"],
    ],
    compactions: "completed",
    cancelled: "cancelled",
    listed: 1,
    replayed: { user: 4, compactions: true, isBetween: true },
    resumed: { stop: "end_turn", kinds: ["agent_message_chunk"] },
  });
  assert.equal(await readFile(join(on.workspace, "a.txt"), "utf8"), "one zwei\n");
  assert.deepEqual(recording.openings(), [["session/new"], ["session/load"], ["session/resume"]]);
  recording.isSound();
});

test("the SDK for TypeScript drives a turn", async (t) => {
  const on = await ground(t, { answers: [call("read_file", { path: "a.txt" }, "Let me look."), { say: "Done." }] }, { "a.txt": "one\n" });
  const recording = new Recording(on);
  const [program, ...args] = recording.command(on.args);
  const agent = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
  const ended = once(agent, "exit");
  atEnd(t, () => agent.kill() && ended);
  const stream = acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));
  const updates = [];
  const client = acp.client({ name: "test" });
  client.onNotification("session/update", ({ params }) => void updates.push(params.update.sessionUpdate));
  const reason = await client.connectWith(stream, async (peer) => {
    await peer.request("initialize", { protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities: {} });
    const { sessionId } = await peer.request("session/new", { cwd: on.workspace, mcpServers: [] });
    const prompt = [{ type: "text", text: "Read it." }];
    return (await peer.request("session/prompt", { sessionId, prompt })).stopReason;
  });
  assert.equal(reason, "end_turn");
  for (const kind of ["agent_message_chunk", "tool_call", "tool_call_update", "usage_update"]) {
    assert.ok(updates.includes(kind), kind);
  }
  recording.isSound();
});
