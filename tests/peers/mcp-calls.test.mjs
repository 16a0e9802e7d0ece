// What a server says and asks while a call runs: progress, and questions to the user, in both revisions.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Editor, faults, ground } from "./acp.mjs";
import { Sidecar } from "./sidecar.mjs";
import { npm, PYTHON } from "./start.mjs";

const command = ([command, ...args]) => ({ command, args });
const everything = command([...npm("mcp-server-everything"), "stdio"]);
const asking = command([PYTHON, fileURLToPath(new URL("servers/asking.py", import.meta.url))]);
const call = (name, args = {}) => ({ call: { name, arguments: args } });
const said = { say: "done" };
const turns = (...calls) => calls.flatMap((call) => [call, said]);
const servers = (servers) => ({ mcp: { servers } });
const texts = (result) => result.content.map((part) => part.text);
const long = call("all__trigger-long-running-operation", { duration: 2, steps: 4 });
const ask = "all__trigger-elicitation-request";
const filled = { name: "Ada", check: true, integer: 7, untitledSingleSelectEnum: "Joey", untitledMultipleSelectEnum: ["Piano"] };

const started = (t, answers, named, capabilities) => Sidecar.start(t, answers, servers(named), undefined, [], capabilities);

test("progress of a call is told as events", async (t) => {
  const sidecar = await started(t, turns(long), { all: everything });
  await sidecar.turn(await sidecar.open());
  const told = sidecar.events.filter(({ type }) => type === "toolProgress");
  const { message } = sidecar.events.find(({ type, message }) => type === "messageAdded" && message.role === "assistant");
  const { id } = message.parts.find(({ type }) => type === "toolCall");
  assert.ok(told.length > 0);
  for (const { toolCallId, progress, total } of told) {
    assert.deepEqual([toolCallId, total, [1, 2, 3, 4].includes(progress)], [id, 4, true]);
  }
});

test("a server of each revision asks the user, who answers, declines and leaves", async (t) => {
  const book = call("asking__book");
  const answers = turns(call(ask), book, book, book);
  const sidecar = await started(t, answers, { all: everything, asking }, { elicit: true });
  const session = await sidecar.open();
  sidecar.answer = () => ({ action: "accept", content: filled });
  const [older] = await sidecar.turn(session);
  assert.match(texts(older).join(" "), /provided the requested information.*Ada/s);
  const [first] = sidecar.elicited;
  assert.deepEqual([first.sessionId, first.server], [session, "all"]);
  assert.equal(first.message, "Please provide inputs for the following fields:");
  assert.deepEqual(first.schema.properties.check, {
    type: "boolean",
    title: "Boolean",
    description: "Agree to the terms and conditions",
  });
  const replies = [{ action: "accept", content: { guests: 3 } }, { action: "decline" }, { action: "cancel" }];
  const expected = ['accept {"guests":3,"outside":false}', "decline", "cancel"];
  for (const [at, reply] of replies.entries()) {
    sidecar.answer = () => reply;
    const [booked] = await sidecar.turn(session);
    assert.deepEqual(texts(booked), [expected[at]]);
  }
  assert.equal(sidecar.elicited.length, 4);
  assert.deepEqual(sidecar.elicited.at(-1).schema.properties.guests.maximum, 8);
  const listed = (await sidecar.request("mcp/list", {})).servers;
  assert.deepEqual(
    listed.map(({ revision }) => revision),
    ["2025-11-25", "2026-07-28"],
  );
});

test("an answer that does not fit is declined", async (t) => {
  const sidecar = await started(t, turns(call("asking__book")), { asking }, { elicit: true });
  sidecar.answer = () => ({ action: "accept", content: { guests: 9 } });
  const [booked] = await sidecar.turn(await sidecar.open());
  assert.deepEqual(texts(booked), ["decline"]);
});

test("a question is withdrawn with its turn", async (t) => {
  const sidecar = await started(t, [call("asking__book"), said], { asking }, { elicit: true });
  const session = await sidecar.open();
  const asked = new Promise((resolve) => {
    sidecar.answer = () => new Promise(() => resolve());
  });
  const turn = sidecar.turn(session);
  await asked;
  await sidecar.request("turn/cancel", { sessionId: session });
  await turn;
  await sidecar.until(() => sidecar.withdrawn.length > 0);
  assert.equal(sidecar.withdrawn.length, 1);
});

test("a client that cannot ask is not asked, and servers know", async (t) => {
  const sidecar = await started(t, turns(call(ask), call("asking__book")), { all: everything, asking });
  const session = await sidecar.open();
  const [none] = await sidecar.turn(session);
  assert.deepEqual(texts(none), [`[no tool is named ${ask}]`]);
  const [booked] = await sidecar.turn(session);
  assert.equal(booked.isError, true);
  assert.deepEqual(sidecar.elicited, []);
});

const began = async (t, answers, named, capabilities) => {
  const on = await ground(t, { answers });
  const editor = new Editor(t, on.args);
  await editor.initialize(capabilities);
  editor.handlers["session/request_permission"] = () => ({ outcome: { outcome: "selected", optionId: "allowOnce" } });
  const mcpServers = Object.entries(named).map(([name, server]) => ({ name, ...server, env: [] }));
  const { sessionId } = await editor.call("session/new", { cwd: on.workspace, mcpServers });
  return { editor, sessionId };
};

/** What the rows of calls showed, with their states. */
const rows = (editor, sessionId) =>
  editor
    .updates(sessionId)
    .filter(({ sessionUpdate, content }) => sessionUpdate === "tool_call_update" && content)
    .map(({ status, content }) => [status, content.map(({ content }) => content.text).join()]);

test("an editor sees progress in the call's row, until its result", async (t) => {
  const { editor, sessionId } = await began(t, turns(long), { all: everything });
  await editor.prompt(sessionId, "go");
  const shown = rows(editor, sessionId);
  assert.equal(shown.at(-1)[0], "completed");
  const before = shown.slice(0, -1);
  assert.ok(before.length > 0);
  for (const row of before) assert.ok(row[0] === "in_progress" && /^(25|50|75|100) %$/.test(row[1]), String(row));
  assert.deepEqual(faults(editor.log), []);
});

test("an editor with forms asks what servers want to know", async (t) => {
  const answers = turns(call(ask), call("asking__book"), call("asking__book"));
  const { editor, sessionId } = await began(t, answers, { all: everything, asking }, { elicitation: { form: {} } });
  const content = [filled, { guests: 2, outside: true }];
  editor.handlers["elicitation/create"] = () =>
    content.length > 0 ? { action: "accept", content: content.shift() } : { action: "decline" };
  for (const _ of [1, 2, 3]) await editor.prompt(sessionId, "go");
  const results = rows(editor, sessionId).map(([, text]) => text);
  assert.match(results[0], /Ada/);
  assert.deepEqual(results.slice(1), ['accept {"guests":2,"outside":true}', "decline"]);
  const asked = editor.log.filter(({ message }) => message.method === "elicitation/create").map(({ message }) => message.params);
  const calls = editor.updates(sessionId).filter(({ sessionUpdate }) => sessionUpdate === "tool_call");
  assert.deepEqual(
    asked.map(({ sessionId, toolCallId, mode, message }) => [sessionId, toolCallId, mode, message]),
    calls.map(({ toolCallId }, at) => [
      sessionId,
      toolCallId,
      "form",
      at === 0 ? "all: Please provide inputs for the following fields:" : "asking: Which table?",
    ]),
  );
  assert.deepEqual(faults(editor.log), []);
});

test("a prompt that is cancelled while a form is open ends, and the form is withdrawn", async (t) => {
  const { editor, sessionId } = await began(t, [call("asking__book")], { asking }, { elicitation: { form: {} } });
  const prompt = editor.prompt(sessionId, "go");
  const { id } = await editor.until(({ method }) => method === "elicitation/create");
  editor.send({ method: "session/cancel", params: { sessionId } });
  assert.equal((await prompt).stopReason, "cancelled");
  await editor.until(({ method, params }) => method === "$/cancel_request" && params.requestId === id);
  assert.deepEqual(faults(editor.log), []);
});
