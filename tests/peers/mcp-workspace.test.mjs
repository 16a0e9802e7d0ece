// Servers that files of a workspace define: nothing of them starts before the user allowed exactly that definition.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Editor, faults, ground } from "./acp.mjs";
import { folder, Sidecar } from "./sidecar.mjs";
import { npm, PYTHON } from "./start.mjs";

const HOSTILE = fileURLToPath(new URL("servers/hostile.py", import.meta.url));
const said = { say: "done" };
const turns = (...names) => names.flatMap((name) => [{ call: { name, arguments: {} } }, said]);
const ask = { mcp: { workspaceFiles: "ask" } };
const state = async (sidecar, params = {}) => (await sidecar.request("mcp/list", params)).servers;
const states = async (sidecar, params) => (await state(sidecar, params)).map(({ name, state }) => [name, state]);
const shared = (at, mcpServers) => writeFileSync(join(at, ".mcp.json"), JSON.stringify({ mcpServers }));

/** The notices of a session about servers. */
const notices = (sidecar) =>
  sidecar.events
    .filter(({ type, message }) => type === "messageAdded" && message.kind === "serverFailed")
    .map(({ message }) => message.parts[0].text);

test("a server of .mcp.json starts after it was allowed, and a changed one waits again", async (t) => {
  const at = folder(t);
  writeFileSync(join(at, "note.txt"), "from the file");
  const [command, ...args] = [...npm("mcp-server-filesystem"), at];
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the file names a variable so.
  const files = { type: "stdio", command, args, env: { API_TOKEN: "${GIVEN_KEY}", LEVEL: "s3cr3t" } };
  shared(at, { files });
  const read = { call: { name: "files__read_text_file", arguments: { path: join(at, "note.txt") } } };
  const sidecar = await Sidecar.start(t, [said, read, said, said], ask, at);
  const [listed] = await state(sidecar);
  const shown = [command, ...args].join(" ");
  assert.match(listed.definition, /^[0-9a-f]{64}$/);
  const definition = listed.definition;
  assert.deepEqual(listed, {
    name: "files",
    state: "waiting",
    target: shown,
    variables: ["API_TOKEN", "LEVEL"],
    keys: ["GIVEN_KEY"],
    file: ".mcp.json",
    definition,
    tools: [],
    tokens: 0,
  });
  const session = await sidecar.open();
  await sidecar.turn(session);
  assert.deepEqual(notices(sidecar), [
    `The tool server "files" is not ready: .mcp.json defines it, and it needs your consent to be started: ${shown}.`,
  ]);
  assert.deepEqual(await states(sidecar, { sessionId: session }), [["files", "waiting"]]);
  const other = { name: "files", definition: definition.replace(/^./, (c) => (c === "0" ? "1" : "0")) };
  await assert.rejects(sidecar.request("mcp/allow", { ...other, decision: "allow" }), /list the servers again/);
  await sidecar.request("mcp/allow", { name: "files", definition, decision: "allow" });
  const [result] = await sidecar.turn(session);
  assert.deepEqual(result.content[0].text, "from the file");
  const [ready] = await state(sidecar, { sessionId: session });
  assert.deepEqual([ready.state, ready.tools.length], ["ready", 14]);
  assert.equal(
    ready.tokens,
    ready.tools.reduce((sum, tool) => sum + tool.tokens, 0),
  );
  shared(at, { files: { ...files, args: [...args, at] } });
  await sidecar.turn(session);
  assert.deepEqual(await states(sidecar, { sessionId: session }), [["files", "waiting"]]);
  assert.equal(notices(sidecar).length, 2);
});

test("decisions are remembered, and taken back", async (t) => {
  const at = folder(t);
  mkdirSync(join(at, ".vscode"));
  const started = join(at, "started");
  const server = { command: process.execPath, args: ["-e", `require("fs").writeFileSync(${JSON.stringify(started)}, "")`] };
  const text = `{ // comments are allowed\n "servers": { "code": ${JSON.stringify(server)}, } }`;
  writeFileSync(join(at, ".vscode", "mcp.json"), text);
  const first = await Sidecar.start(t, [said], ask, at);
  const [{ name, definition }] = await state(first);
  await first.request("mcp/allow", { name, definition, decision: "deny" });
  await first.end();
  const second = await Sidecar.start(t, [said, said], ask, at);
  const session = await second.open();
  await second.turn(session);
  assert.deepEqual([await states(second, { sessionId: session }), notices(second)], [[["code", "denied"]], []]);
  assert.ok(!existsSync(started));
  const { servers } = await second.request("mcp/allow", { name, definition, decision: "forget" });
  assert.deepEqual(
    servers.map(({ state }) => state),
    ["waiting"],
  );
  await second.request("mcp/allow", { name, definition, decision: "allow" });
  await second.turn(session);
  assert.ok(existsSync(started));
});

test("files of the workspace are not read unless the user says so", async (t) => {
  const at = folder(t);
  mkdirSync(join(at, ".threadhold"));
  const started = join(at, "started");
  const own = `[mcp]\nworkspaceFiles = "ask"\n[mcp.servers.bad]\ncommand = "touch"\nargs = ["${started}"]\n`;
  writeFileSync(join(at, ".threadhold", "config.toml"), own);
  shared(at, { worse: { command: "touch", args: [started] } });
  const silent = await Sidecar.start(t, [said], {}, at);
  await silent.turn(await silent.open());
  assert.deepEqual([await state(silent), notices(silent)], [[], []]);
  await silent.end();
  const asking = await Sidecar.start(t, [said], ask, at);
  const session = await asking.open();
  await asking.turn(session);
  const found = (await state(asking, { sessionId: session })).map(({ name, state, file }) => [name, state, file]);
  assert.deepEqual(found, [
    ["bad", "waiting", ".threadhold/config.toml"],
    ["worse", "waiting", ".mcp.json"],
  ]);
  const distrusting = await Sidecar.start(t, [said], { ...ask, workspaceTrusted: false }, at);
  assert.deepEqual(
    (await state(distrusting)).map(({ state }) => state),
    ["failed", "failed"],
  );
  assert.ok(!existsSync(started));
});

test("an approval for good does not pass to another server of the same name", async (t) => {
  const at = folder(t);
  const of = (...args) => ({ mcp: { servers: { py: { command: PYTHON, args: [HOSTILE, ...args] } } } });
  const asked = async (settings) => {
    const sidecar = await Sidecar.start(t, turns("py__structured"), settings, at);
    sidecar.decision = "allowAlways";
    const [result] = await sidecar.turn(await sidecar.open());
    assert.deepEqual(JSON.parse(result.content[0].text), { answer: 42 });
    await sidecar.end();
    return sidecar.asked;
  };
  assert.deepEqual(await asked(of()), ["py__structured"]);
  assert.deepEqual(await asked(of()), []);
  assert.deepEqual(await asked(of("stdio")), ["py__structured"]);
});

test("an editor's user is asked over ACP before the prompt's turn", async (t) => {
  const answers = turns("py__look");
  const mcpServers = { py: { command: PYTHON, args: [HOSTILE] } };
  const on = await ground(t, { answers }, { ".mcp.json": JSON.stringify({ mcpServers }) });
  writeFileSync(on.at("config.toml"), '[mcp]\nworkspaceFiles = "ask"\n');
  const env = { THREADHOLD_CONFIG: on.at("config.toml") };
  const choose = async (choice) => {
    const editor = new Editor(t, on.args, env);
    await editor.initialize();
    const { sessionId } = await editor.call("session/new", { cwd: on.workspace, mcpServers: [] });
    const asked = [];
    editor.handlers["session/request_permission"] = ({ toolCall, options }) => {
      asked.push(toolCall.title);
      const { optionId } = options.find(({ kind }) => kind === (asked.length === 1 ? choice : "allow_once"));
      return { outcome: { outcome: "selected", optionId } };
    };
    const { stopReason } = await editor.prompt(sessionId, "Go on.");
    assert.equal(await editor.leave(), 0);
    assert.deepEqual([stopReason, faults(editor.log)], ["end_turn", []]);
    return asked;
  };
  const question = `Start this tool server? .mcp.json defines the tool server "py": ${PYTHON} ${HOSTILE}`;
  assert.deepEqual(await choose("reject_once"), [question]);
  assert.deepEqual(await choose("allow_always"), [question, "py__look"]);
  assert.deepEqual(await choose("allow_once"), ["py__look"]);
});

test("an editor can cancel a prompt that waits for consent", async (t) => {
  const mcpServers = { py: { command: PYTHON, args: [HOSTILE] } };
  const on = await ground(t, { answers: [said] }, { ".mcp.json": JSON.stringify({ mcpServers }) });
  writeFileSync(on.at("config.toml"), '[mcp]\nworkspaceFiles = "ask"\n');
  const editor = new Editor(t, on.args, { THREADHOLD_CONFIG: on.at("config.toml") });
  await editor.initialize();
  const { sessionId } = await editor.call("session/new", { cwd: on.workspace, mcpServers: [] });
  const prompt = editor.prompt(sessionId, "Go on.");
  await editor.until(({ method }) => method === "session/request_permission");
  editor.send({ method: "session/cancel", params: { sessionId } });
  assert.equal((await prompt).stopReason, "cancelled");
});

test("no prompt overtakes one that waits for consent, and one that waits behind it can be cancelled", async (t) => {
  const mcpServers = { py: { command: PYTHON, args: [HOSTILE] } };
  const on = await ground(t, { answers: [said, said] }, { ".mcp.json": JSON.stringify({ mcpServers }) });
  writeFileSync(on.at("config.toml"), '[mcp]\nworkspaceFiles = "ask"\n');
  const editor = new Editor(t, on.args, { THREADHOLD_CONFIG: on.at("config.toml") });
  await editor.initialize();
  const { sessionId } = await editor.call("session/new", { cwd: on.workspace, mcpServers: [] });
  let decide;
  editor.handlers["session/request_permission"] = () => new Promise((resolve) => (decide = resolve));
  const first = editor.prompt(sessionId, "the first");
  await editor.until(({ method }) => method === "session/request_permission");
  const [second, third] = ["the second", "the third"].map((text) => editor.prompt(sessionId, text));
  const { message } = editor.log.find(({ message }) => message.params?.prompt?.[0].text === "the second");
  editor.send({ method: "$/cancel_request", params: { requestId: message.id } });
  assert.equal((await second).stopReason, "cancelled");
  decide({ outcome: { outcome: "selected", optionId: "notNow" } });
  assert.deepEqual([(await first).stopReason, (await third).stopReason], ["end_turn", "end_turn"]);
  assert.equal(await editor.leave(), 0);
  const other = new Editor(t, on.args);
  await other.initialize();
  await other.call("session/load", { sessionId, cwd: on.workspace, mcpServers: [] });
  const sent = other.updates(sessionId).filter(({ sessionUpdate }) => sessionUpdate === "user_message_chunk");
  assert.deepEqual(
    sent.map(({ content }) => content.text),
    ["the first", "the third"],
  );
  assert.deepEqual([...faults(editor.log), ...faults(other.log)], []);
});

test("variables of an envFile reach the server, and their values are shown and stored nowhere", async (t) => {
  const at = folder(t);
  mkdirSync(join(at, ".vscode"));
  const [given, record] = [join(at, "given"), join(at, "record.jsonl")];
  const code = `require("fs").writeFileSync(${JSON.stringify(given)}, process.env.TOKEN + process.env.LEVEL)`;
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the file names the folder so.
  const server = { command: process.execPath, args: ["-e", code], envFile: "${workspaceFolder}/.env", env: { LEVEL: "3" } };
  writeFileSync(join(at, ".vscode", "mcp.json"), JSON.stringify({ servers: { code: server } }));
  writeFileSync(join(at, ".env"), "# ours\nTOKEN='s3cr3t'\nLEVEL=2\n");
  const sidecar = await Sidecar.start(t, [said, said], ask, at, ["--record", record]);
  const [{ name, definition, variables }] = await state(sidecar);
  assert.deepEqual(variables, ["LEVEL", "TOKEN"]);
  await sidecar.request("mcp/allow", { name, definition, decision: "allow" });
  const session = await sidecar.open();
  await sidecar.turn(session);
  assert.equal(readFileSync(given, "utf8"), "s3cr3t3");
  writeFileSync(join(at, ".env"), "TOKEN=s3cr3t\nNODE_OPTIONS=--inspect\n");
  assert.deepEqual(await states(sidecar, { sessionId: session }), [["code", "waiting"]]);
  writeFileSync(join(at, ".env"), "s3cr3t");
  const [{ reason }] = await state(sidecar);
  assert.equal(reason, `envFile ${join(at, ".env")}: line 1 has no \`=\``);
  await sidecar.end();
  for (const file of [record, join(at, "store", "threadhold.db")]) assert.ok(!readFileSync(file).includes("s3cr3t"), file);
});
