// The sidecar as an agent of the Agent Client Protocol, line by line against the published schema.
import assert from "node:assert/strict";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { Editor, faults, ground, short } from "./acp.mjs";

const call = (name, args, say) => ({ say, call: { name, arguments: args } });
const allow = (optionId) => () => ({ outcome: { outcome: "selected", optionId } });

/** The text of a call's result: in its content, unless that shows more than the result. */
const output = ({ content, rawOutput }) => rawOutput ?? content[0].content.text;

/** An initialized agent with a session of the workspace. */
async function begun(t, on, { capabilities, args = [], env } = {}) {
  const editor = new Editor(t, [...on.args, ...args], env);
  await editor.initialize(capabilities);
  const { sessionId } = await editor.call("session/new", { cwd: on.workspace, mcpServers: [] });
  return { editor, sessionId };
}

test("a turn reads, edits after approval and tells each step", async (t) => {
  const model = {
    answers: [
      call("read_file", { path: "a.txt" }, "Let me look."),
      call("edit_file", { path: "a.txt", old: "two", new: "zwei" }, "I edit."),
      call("run_command", { command: "cat a.txt" }, "I check."),
      { say: "Done." },
    ],
  };
  const on = await ground(t, model, { "a.txt": "one\ntwo\n" });
  const { editor, sessionId } = await begun(t, on);
  const asked = [];
  editor.handlers["session/request_permission"] = ({ toolCall, options }) => {
    asked.push([toolCall.title, toolCall.content, options.map(({ name }) => name)]);
    return { outcome: { outcome: "selected", optionId: asked.length === 1 ? "allowOnce" : "rejectOnce" } };
  };
  const ended = await editor.prompt(sessionId, "Change it.");
  assert.deepEqual(ended.stopReason, "end_turn");
  assert.equal(await readFile(join(on.workspace, "a.txt"), "utf8"), "one\nzwei\n");
  const path = join(on.workspace, "a.txt");
  assert.deepEqual(asked, [
    [
      "Edit a.txt",
      [{ type: "diff", path, oldText: "one\ntwo\n", newText: "one\nzwei\n" }],
      ["Allow", "Always allow edit_file in this folder", "Reject", "Always reject edit_file in this folder"],
    ],
    ["`cat a.txt`", [], ["Allow", "Always allow `cat` in this folder", "Reject", "Always reject exactly this command in this folder"]],
  ]);
  const live = short(editor.updates(sessionId));
  assert.deepEqual(live, [
    "agent: Let me look.",
    "call 1: Read a.txt",
    "call 1: in_progress",
    "call 1: completed",
    "agent: I edit.",
    "call 2: Edit a.txt",
    "call 2: in_progress",
    "call 2: completed",
    "agent: I check.",
    "call 3: `cat a.txt`",
    "call 3: failed",
    "agent: Done.",
  ]);
  // The list, and the whole history in another process.
  assert.equal(await editor.leave(), 0);
  const other = new Editor(t, on.args);
  await other.initialize();
  const { sessions } = await other.call("session/list", { cwd: on.workspace });
  assert.deepEqual(
    sessions.map(({ sessionId, cwd, title }) => ({ sessionId, cwd, title })),
    [{ sessionId, cwd: on.workspace, title: "Change it." }],
  );
  await other.call("session/load", { sessionId, cwd: on.workspace, mcpServers: [] });
  const replayed = short(other.updates(sessionId));
  assert.deepEqual(replayed, ["user: Change it.", ...live.filter((line) => !line.endsWith("in_progress"))]);
  assert.deepEqual([...faults(editor.log), ...faults(other.log)], []);
});

test("always is remembered for the beginning of a command", async (t) => {
  const model = {
    answers: [call("run_command", { command: "echo one" }), call("run_command", { command: "echo two" }), { say: "Done." }],
  };
  const on = await ground(t, model);
  const { editor, sessionId } = await begun(t, on);
  editor.handlers["session/request_permission"] = allow("allowAlways");
  await editor.prompt(sessionId, "Say it twice.");
  const asked = editor.log.filter(({ message }) => message.method === "session/request_permission");
  assert.equal(asked.length, 1);
  const outputs = editor.updates(sessionId).filter(({ status }) => status === "completed");
  assert.deepEqual(outputs.map(output), ["one", "two"]);
  assert.deepEqual(faults(editor.log), []);
});

test("a turn is cancelled in the middle of an answer and of a question", async (t) => {
  const on = await ground(t, {
    answers: [{ behave: "never" }, call("run_command", { command: "echo one" }), { say: "Again." }],
  });
  const { editor, sessionId } = await begun(t, on);
  const first = editor.prompt(sessionId, "Wait.");
  await editor.until(({ params }) => params?.update?.sessionUpdate === "usage_update");
  editor.send({ method: "session/cancel", params: { sessionId } });
  assert.equal((await first).stopReason, "cancelled");

  // The editor answers the open question, as the protocol asks of it.
  let answer;
  editor.handlers["session/request_permission"] = () => new Promise((resolve) => (answer = resolve));
  const second = editor.prompt(sessionId, "Run it.");
  await editor.until(({ method }) => method === "session/request_permission");
  editor.send({ method: "session/cancel", params: { sessionId } });
  answer({ outcome: { outcome: "cancelled" } });
  assert.equal((await second).stopReason, "cancelled");

  // A request is cancelled by its id, and the session goes on.
  assert.equal((await editor.prompt(sessionId, "Go on.")).stopReason, "end_turn");
  assert.deepEqual(faults(editor.log), []);
});

test("a prompt behind a running turn waits, and goes when all is cancelled", async (t) => {
  const on = await ground(t, { answers: [{ behave: "never" }, { say: "Second." }] });
  const { editor, sessionId } = await begun(t, on);
  const first = editor.prompt(sessionId, "One.");
  await editor.until(({ params }) => params?.update?.sessionUpdate === "usage_update");
  const [second, third] = [editor.prompt(sessionId, "Two."), editor.prompt(sessionId, "Three.")];
  editor.send({ method: "session/cancel", params: { sessionId } });
  const reasons = (await Promise.all([first, second, third])).map(({ stopReason }) => stopReason);
  assert.deepEqual(reasons, ["cancelled", "cancelled", "cancelled"]);
  assert.equal((await editor.prompt(sessionId, "Four.")).stopReason, "end_turn");
  assert.deepEqual(faults(editor.log), []);
});

test("a session that is loaded in the middle of a turn goes on as it was", async (t) => {
  const on = await ground(t, { answers: [call("run_command", { command: "cat gate" }), { say: "Done." }] });
  const { editor, sessionId } = await begun(t, on, { capabilities: { terminal: true } });
  let exit;
  Object.assign(editor.handlers, {
    "session/request_permission": allow("allowOnce"),
    "terminal/create": () => ({ terminalId: "t" }),
    "terminal/wait_for_exit": () => new Promise((resolve) => (exit = resolve)),
    "terminal/output": () => ({ output: "waited\n", truncated: false }),
    "terminal/release": () => ({}),
  });
  const prompt = editor.prompt(sessionId, "Wait for it.");
  await editor.until(({ method }) => method === "terminal/wait_for_exit");
  await editor.call("session/load", { sessionId, cwd: on.workspace, mcpServers: [] });
  exit({ exitCode: 0, signal: null });
  assert.equal((await prompt).stopReason, "end_turn");
  const ended = editor.updates(sessionId).filter(({ status }) => status === "completed" || status === "failed");
  assert.deepEqual(
    ended.map((update) => [update.status, output(update)]),
    [["completed", "waited"]],
  );
  assert.deepEqual(faults(editor.log), []);
});

test("an undone compaction is not told as one that was made", async (t) => {
  const long = Array.from({ length: 260 }, (_, at) => `line ${at} says what it says`).join("\n");
  const on = await ground(t, { answers: [{ say: long }, { say: "Short." }], then: "echo" });
  for (const compaction of [{}, undefined]) {
    const { editor, sessionId } = await begun(t, on, { capabilities: { session: { compaction } } });
    await editor.prompt(sessionId, "One.");
    await editor.prompt(sessionId, "Two.");
    await editor.prompt(sessionId, "/compact");
    const from = editor.log.length;
    await editor.prompt(sessionId, "/undo");
    const told = short(editor.updates(sessionId, from));
    assert.deepEqual(told, ["agent: Undone: the prompt shows the original messages again."]);
    await editor.leave();
  }
});

test("a request that is cancelled by its id ends with its turn", async (t) => {
  const on = await ground(t, { answers: [{ behave: "never" }] });
  const { editor, sessionId } = await begun(t, on);
  const answer = editor.prompt(sessionId, "Wait.");
  await editor.until(({ params }) => params?.update?.sessionUpdate === "usage_update");
  const { message } = editor.log.find(({ message }) => message.method === "session/prompt");
  editor.send({ method: "$/cancel_request", params: { requestId: message.id } });
  assert.equal((await answer).stopReason, "cancelled");
});

const window = ["--set", "threshold=5000", "--set", "reservedOutput=500", "--set", "maxSummaryTokens=500"];

test("an overflow is told where it happened, live and in the replay", async (t) => {
  const long = (name) => Array.from({ length: 260 }, (_, at) => `${name} says line ${at} of it`).join("\n");
  const model = { answers: [{ say: long("one") }, { say: long("two") }], then: "echo" };
  for (const takes of [true, false]) {
    const on = await ground(t, model);
    const capabilities = takes ? { session: { compaction: {} } } : {};
    const { editor, sessionId } = await begun(t, on, { capabilities, args: window });
    for (const text of ["First.", "Second.", "Third."]) await editor.prompt(sessionId, text);
    const updates = editor.updates(sessionId);
    const made = updates.filter(({ sessionUpdate }) => sessionUpdate === "compaction_update");
    const completed = made.filter(({ status }) => status === "completed");
    await editor.leave();
    const other = new Editor(t, [...on.args, ...window]);
    await other.initialize(capabilities);
    await other.call("session/load", { sessionId, cwd: on.workspace, mcpServers: [] });
    const replayed = short(other.updates(sessionId));
    if (takes) {
      assert.ok(completed.length > 0, "a compaction was made");
      assert.ok(completed.every(({ summary }) => summary[0].text.length > 0));
      const told = replayed.filter((line) => line.startsWith("compaction"));
      assert.deepEqual(
        told,
        completed.map(() => "compaction completed"),
      );
      assert.ok(replayed.indexOf("compaction completed") < replayed.length - 1, "not at the end");
    } else {
      assert.deepEqual(made, []);
      assert.ok(short(updates).some((line) => /\(Compacted from \d+ to \d+ tokens\.\)/.test(line)));
      assert.ok(replayed.some((line) => /\(Compacted from \d+ to \d+ tokens\.\)/.test(line)));
    }
    assert.deepEqual([...faults(editor.log), ...faults(other.log)], []);
  }
});

test("files and commands go through the editor where it offers them", async (t) => {
  const model = {
    answers: [
      call("read_file", { path: "a.txt" }),
      call("edit_file", { path: "a.txt", old: "unsaved", new: "changed" }),
      call("run_command", { command: "make", seconds: 1 }),
      call("run_command", { command: "sleep 100", seconds: 1 }),
      { say: "Done." },
    ],
  };
  const on = await ground(t, model, { "a.txt": "on disk\n" });
  const path = join(on.workspace, "a.txt");
  const capabilities = { fs: { readTextFile: true, writeTextFile: true }, terminal: true };
  const { editor, sessionId } = await begun(t, on, { capabilities });
  const buffers = { [path]: "an unsaved line\n" };
  const terminals = [];
  Object.assign(editor.handlers, {
    "session/request_permission": allow("allowOnce"),
    "fs/read_text_file": ({ path }) => ({ content: buffers[path] }),
    "fs/write_text_file": ({ path, content }) => {
      buffers[path] = content;
      return {};
    },
    "terminal/create": ({ command, args, cwd, env }) => {
      terminals.push({ args, cwd, isBash: command.endsWith("bash"), env: env.map(({ name }) => name), calls: [] });
      return { terminalId: `t${terminals.length - 1}` };
    },
    "terminal/wait_for_exit": ({ terminalId }) => (terminalId === "t0" ? { exitCode: 2, signal: null } : undefined),
    "terminal/output": ({ terminalId }) => ({ output: `output of ${terminalId}\n`, truncated: terminalId === "t1" }),
    "terminal/kill": ({ terminalId }) => {
      terminals[Number(terminalId.slice(1))].calls.push("kill");
      return {};
    },
    "terminal/release": ({ terminalId }) => {
      terminals[Number(terminalId.slice(1))].calls.push("release");
      return {};
    },
  });
  await editor.prompt(sessionId, "Do it.");
  assert.deepEqual(buffers, { [path]: "an changed line\n" });
  assert.equal(await readFile(path, "utf8"), "on disk\n");
  const cwd = on.workspace;
  const env = ["GIT_TERMINAL_PROMPT", "GIT_EDITOR", "GIT_PAGER", "PAGER"];
  assert.deepEqual(terminals, [
    { args: ["-c", "exec </dev/null\nmake"], cwd, isBash: true, env, calls: ["release"] },
    { args: ["-c", "exec </dev/null\nsleep 100"], cwd, isBash: true, env, calls: ["kill", "release"] },
  ]);
  const ended = editor.updates(sessionId).filter(({ status }) => status === "completed" || status === "failed");
  assert.deepEqual(
    ended.map((update) => [update.status, output(update)]),
    [
      ["completed", "an unsaved line\n"],
      ["completed", "Changed a.txt."],
      ["failed", "output of t0\n(exit code 2)"],
      ["failed", "(the beginning is left out)\noutput of t1\n(ended after 1 s)"],
    ],
  );
  const shown = editor.updates(sessionId).flatMap(({ content }) => (Array.isArray(content) ? content : []));
  assert.deepEqual(
    shown.filter(({ type }) => type === "terminal").map(({ terminalId }) => terminalId),
    ["t0", "t1"],
  );
  assert.deepEqual(faults(editor.log), []);
});

test("modes deny changes and leave the prompt's beginning as it is", async (t) => {
  const on = await ground(t, {
    answers: [{ say: "Hello." }, call("write_file", { path: "b.txt", text: "x" }), { say: "A plan." }],
  });
  const dump = on.at("dump");
  const { editor, sessionId } = await begun(t, on, { args: ["--dump-prompts", dump] });
  await editor.prompt(sessionId, "Hello?");
  await editor.call("session/set_mode", { sessionId, modeId: "plan" });
  await editor.prompt(sessionId, "Make b.txt.");
  const asked = editor.log.filter(({ message }) => message.method === "session/request_permission");
  assert.deepEqual(asked, []);
  const lines = short(editor.updates(sessionId));
  assert.deepEqual(lines.slice(1), ["call 1: Write b.txt", "call 1: failed", "agent: A plan."]);
  const error = await editor.ask("session/set_mode", { sessionId, modeId: "ape" });
  assert.deepEqual(error.error, { code: -32602, message: 'unknown mode "ape"' });
  const prompts = await Promise.all((await readdir(dump)).sort().map((name) => readFile(join(dump, name), "utf8")));
  const tools = prompts.map((text) => JSON.stringify(JSON.parse(text).tools ?? JSON.parse(text).request?.tools));
  assert.deepEqual([prompts.length, new Set(tools).size, tools[0]?.includes("write_file")], [3, 1, true]);
  assert.deepEqual(faults(editor.log), []);
});

test("options are chosen and told whole", async (t) => {
  const on = await ground(t, { answers: [{ say: "Hello." }] });
  const { editor, sessionId } = await begun(t, on);
  const set = (configId, value) => editor.call("session/set_config_option", { sessionId, configId, value });
  const current = ({ configOptions }) => configOptions.map(({ id, currentValue }) => [id, currentValue]);
  assert.deepEqual(current(await set("effort", "low")), [
    ["effort", "low"],
    ["policy", "default"],
  ]);
  assert.deepEqual(current(await set("policy", "rounds")), [
    ["effort", "low"],
    ["policy", "rounds"],
  ]);
  assert.deepEqual(current(await set("effort", "default")), [
    ["effort", "default"],
    ["policy", "rounds"],
  ]);
  const answer = await editor.ask("session/set_config_option", { sessionId, configId: "policy", value: "x" });
  assert.equal(answer.error.code, -32602);
  assert.equal((await editor.prompt(sessionId, "Hello?")).stopReason, "end_turn");
  assert.deepEqual(faults(editor.log), []);
});

test("one of several models is chosen, and kept with the session", async (t) => {
  const on = await ground(t, { answers: [{ say: "From the first." }], then: "echo" });
  await writeFile(on.at("other.json"), JSON.stringify({ answers: [{ say: "From the second." }], then: "echo" }));
  const [first, second] = ["model.json", "other.json"].map((name) => `scripted:${on.at(name)}`);
  // One that is named twice is offered once.
  const args = ["--also-model", second, "--also-model", first];
  const { editor, sessionId } = await begun(t, on, { args });
  const model = ({ configOptions }) => {
    const [{ category, currentValue, options }] = configOptions.filter(({ id }) => id === "model");
    return { category, currentValue, options: options.map(({ value }) => value) };
  };
  const chosen = (currentValue) => ({ category: "model", currentValue, options: [first, second] });
  const set = (value) => editor.ask("session/set_config_option", { sessionId, configId: "model", value });
  const said = async (words) => {
    const from = editor.log.length;
    await editor.prompt(sessionId, words);
    return short(editor.updates(sessionId, from));
  };
  assert.deepEqual(await said("One."), ["agent: From the first."]);
  assert.deepEqual(model((await set(second)).result), chosen(second));
  assert.deepEqual(await said("Two."), ["agent: From the second."]);
  assert.deepEqual((await set("scripted:none")).error, { code: -32602, message: 'unknown model "scripted:none"' });
  // Another session begins with the first model, and this one keeps its own.
  assert.deepEqual(model(await editor.call("session/new", { cwd: on.workspace, mcpServers: [] })), chosen(first));
  await editor.leave();
  const other = new Editor(t, [...on.args, ...args]);
  await other.initialize();
  assert.deepEqual(model(await other.call("session/load", { sessionId, cwd: on.workspace, mcpServers: [] })), chosen(second));
  assert.deepEqual([...faults(editor.log), ...faults(other.log)], []);
});

test("one process holds a session, another follows it and takes it over", async (t) => {
  const on = await ground(t, { answers: [{ say: "First." }, { say: "Second." }], then: "echo" });
  const { editor, sessionId } = await begun(t, on);
  await editor.prompt(sessionId, "One.");
  const other = new Editor(t, on.args);
  await other.initialize();
  await other.call("session/resume", { sessionId, cwd: on.workspace, mcpServers: [] });
  await editor.prompt(sessionId, "Two.");
  await other.until(({ params }) => params?.update?.content?.text === "Second.");
  assert.deepEqual(short(other.updates(sessionId)), ["user: Two.", "agent: Second."]);
  other.handlers["session/request_permission"] = allow("rejectOnce");
  const left = await other.ask("session/prompt", { sessionId, prompt: [{ type: "text", text: "Three." }] });
  assert.match(left.error.message, /stays open in the other process; the prompt was not sent/);
  other.handlers["session/request_permission"] = allow("allowOnce");
  assert.equal((await other.prompt(sessionId, "Three.")).stopReason, "end_turn");
  await editor.until(({ params }) => params?.update?.content?.text === "Three.");
  assert.deepEqual([...faults(editor.log), ...faults(other.log)], []);
});

test("errors say what is wrong and nothing is lost", async (t) => {
  const on = await ground(t, { answers: [{ behave: "refuse" }, { say: "Back." }], then: "echo" });
  const early = new Editor(t, on.args);
  const answer = await early.ask("session/new", { cwd: on.workspace, mcpServers: [] });
  assert.deepEqual(answer.error, { code: -32600, message: "session/new came before initialize; send initialize first" });
  const { editor, sessionId } = await begun(t, on);
  const of = async (method, params) => (await editor.ask(method, params)).error;
  const prompt = (prompt) => of("session/prompt", { sessionId, prompt });
  assert.deepEqual(await of("initialize", { protocolVersion: 1 }), { code: -32600, message: "initialize was sent before" });
  assert.deepEqual(await of("session/new", { cwd: "w", mcpServers: [] }), {
    code: -32602,
    message: 'cwd must be an absolute path, and it is "w"',
  });
  assert.deepEqual(await of("session/nothing", {}), { code: -32601, message: 'unknown method "session/nothing"' });
  assert.equal((await of("session/load", { sessionId: "no", cwd: on.workspace, mcpServers: [] })).code, -32002);
  assert.equal((await of("session/prompt", { sessionId: "no", prompt: [] })).code, -32002);
  assert.deepEqual(await prompt([]), { code: -32602, message: "the prompt is empty" });
  assert.deepEqual(await prompt([{ type: "audio", mimeType: "audio/wav", data: "" }]), {
    code: -32602,
    message: "audio is not accepted; agentCapabilities say so",
  });
  assert.deepEqual(await prompt([{ type: "text", text: "/pin" }]), {
    code: -32602,
    message: "/pin needs the text to keep",
  });
  assert.equal((await editor.prompt(sessionId, "Do it.")).stopReason, "refusal");
  assert.equal((await editor.prompt(sessionId, "Hello?")).stopReason, "end_turn");
  assert.deepEqual(short(editor.updates(sessionId)).at(-1), "agent: Back.");
});

test("a session without a model says how to name one", async (t) => {
  const on = await ground(t, {});
  const args = on.args.slice(0, 3);
  const env = { HOME: on.folder, XDG_CONFIG_HOME: on.folder };
  const { editor, sessionId } = await begun(t, { ...on, args }, { env });
  const { error } = await editor.ask("session/prompt", { sessionId, prompt: [{ type: "text", text: "Hello?" }] });
  assert.match(error.message, /^no model is set; name one with --model WIRE:NAME/);
});

test("slash commands act on the session", async (t) => {
  const on = await ground(t, { answers: [{ say: "The parser reads tokens." }], then: "echo" });
  const { editor, sessionId } = await begun(t, on);
  await editor.prompt(sessionId, "How does the parser work?");
  const said = async (text) => {
    const from = editor.log.length;
    assert.equal((await editor.prompt(sessionId, text)).stopReason, "end_turn");
    return short(editor.updates(sessionId, from));
  };
  assert.match((await said("/pin Keep the grammar.")).at(-1), /^agent: Pinned\. The session has 1 pin\.$/);
  assert.match((await said("/context")).at(-1), /tokens \(\d+ %\)/);
  assert.match((await said("/search parser")).at(-1), /How does the parser work\?/);
  assert.match((await said("/cost")).at(-1), /cost/);
  assert.match((await said("/new")).at(-1), /^agent: A new chat begins here\.$/);
  const { error } = await editor.ask("session/prompt", { sessionId, prompt: [{ type: "text", text: "/undo" }] });
  assert.equal(typeof error.message, "string");
  assert.deepEqual(faults(editor.log), []);
});

test("pictures, files and links of a prompt reach the session", async (t) => {
  const on = await ground(t, { answers: [{ say: "Seen." }] });
  const { editor, sessionId } = await begun(t, on);
  const uri = `file://${join(on.workspace, "a.txt")}`;
  const prompt = [
    { type: "text", text: "Look." },
    { type: "image", mimeType: "image/png", data: "iVBORw0KGgo=" },
    { type: "resource", resource: { uri, text: "one\n", mimeType: "text/plain" } },
    { type: "resource_link", uri: "https://example.org/a", name: "a" },
  ];
  assert.equal((await editor.call("session/prompt", { sessionId, prompt })).stopReason, "end_turn");
  await editor.leave();
  const other = new Editor(t, on.args);
  await other.initialize();
  await other.call("session/load", { sessionId, cwd: on.workspace, mcpServers: [] });
  const user = other.updates(sessionId).filter(({ sessionUpdate }) => sessionUpdate === "user_message_chunk");
  assert.deepEqual(
    user.map(({ content }) => content),
    [
      prompt[0],
      prompt[1],
      { type: "resource", resource: { uri, text: "one\n" } },
      { type: "resource_link", uri: "https://example.org/a", name: "a" },
    ],
  );
  assert.deepEqual([...faults(editor.log), ...faults(other.log)], []);
});

test("a session is forked, closed and deleted", async (t) => {
  const on = await ground(t, { answers: [{ say: "First." }], then: "echo" });
  const { editor, sessionId } = await begun(t, on);
  await editor.prompt(sessionId, "One.");
  const fork = await editor.call("session/fork", { sessionId, cwd: on.workspace, mcpServers: [] });
  assert.notEqual(fork.sessionId, sessionId);
  assert.deepEqual(await editor.call("session/close", { sessionId }), {});
  const { error } = await editor.ask("session/prompt", { sessionId, prompt: [{ type: "text", text: "Two." }] });
  assert.equal(error.code, -32002);
  assert.deepEqual(await editor.call("session/delete", { sessionId }), {});
  const { sessions } = await editor.call("session/list", { cwd: on.workspace });
  assert.deepEqual(
    sessions.map(({ sessionId }) => sessionId),
    [fork.sessionId],
  );
  assert.deepEqual(faults(editor.log), []);
});
