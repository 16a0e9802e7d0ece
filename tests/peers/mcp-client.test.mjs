// The sidecar as a client of servers of others: what their tools answer is a tool's result in a session.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { folder, Sidecar } from "./sidecar.mjs";
import { npm, PYTHON } from "./start.mjs";

const HOSTILE = fileURLToPath(new URL("servers/hostile.py", import.meta.url));

const command = ([command, ...args], more = {}) => ({ command, args, ...more });
const everything = command([...npm("mcp-server-everything"), "stdio"]);
const hostile = command([PYTHON, HOSTILE]);
const liar = command([PYTHON, fileURLToPath(new URL("servers/liar.py", import.meta.url))]);

const call = (name, args = {}) => ({ call: { name, arguments: args } });
const said = { say: "done" };
/** The answers of a model that makes each call in a turn of its own. */
const turns = (...calls) => calls.flatMap((call) => [call, said]);
const servers = (servers) => ({ mcp: { servers } });
const texts = (result) => result.content.map((part) => part.text);
const state = async (sidecar, params = {}) => (await sidecar.request("mcp/list", params)).servers;

test("files are read through the filesystem server, and each call asks", async (t) => {
  const at = folder(t);
  writeFileSync(join(at, "note.txt"), "from the file");
  const read = call("files__read_text_file", { path: join(at, "note.txt") });
  const files = command([...npm("mcp-server-filesystem"), at]);
  const sidecar = await Sidecar.start(t, turns(read), servers({ files }), at);
  assert.deepEqual(
    (await state(sidecar)).map(({ name, state, tools }) => [name, state, tools.length]),
    [["files", "off", 0]],
  );
  const session = await sidecar.open();
  const [result] = await sidecar.turn(session);
  assert.deepEqual([texts(result), result.isError], [["from the file"], undefined]);
  assert.deepEqual(sidecar.asked, ["files__read_text_file"]);
  const [listed] = await state(sidecar);
  assert.deepEqual([listed.state, listed.revision, listed.tools.length], ["ready", "2025-11-25", 14]);
  assert.ok(listed.tools.every((tool) => tool.tokens > 0 && !tool.runsUnasked));
});

test("images, errors, progress and structured content of server-everything", async (t) => {
  const names = ["get-tiny-image", "trigger-long-running-operation", "get-structured-content"];
  const [image, long, structured] = names.map((name) => `all__${name}`);
  const answers = turns(
    call(image),
    call(long, { duration: 2, steps: 4 }),
    call(structured, { location: "Chicago" }),
    call(structured, { location: "Nowhere" }),
  );
  // Shorter than the long operation, which says how far it is.
  const sidecar = await Sidecar.start(t, answers, servers({ all: { ...everything, timeoutSeconds: 1 } }));
  const session = await sidecar.open();
  const [shown] = await sidecar.turn(session);
  assert.ok(shown.content.some((part) => part.type === "image" && part.mimeType === "image/png"));
  const [progressed] = await sidecar.turn(session);
  assert.match(texts(progressed).join(), /completed/i);
  const [weather] = await sidecar.turn(session);
  assert.deepEqual(weather.content.length, 1);
  assert.ok("temperature" in JSON.parse(texts(weather)[0]));
  const [wrong] = await sidecar.turn(session);
  assert.equal(wrong.isError, true);
});

test("a server over HTTP", async (t) => {
  const port = await new Promise((resolve) => {
    const free = createServer().listen(0, "127.0.0.1", () => {
      const { port } = free.address();
      free.close(() => resolve(port));
    });
  });
  const [program, ...args] = npm("mcp-server-everything");
  const server = spawn(program, [...args, "streamableHttp"], { env: { ...process.env, PORT: port } });
  t.after(() => server.kill());
  await new Promise((resolve) => {
    const look = (bytes) => String(bytes).includes("listening") && resolve();
    server.stdout.on("data", look);
    server.stderr.on("data", look);
  });
  const all = { url: `http://127.0.0.1:${port}/mcp`, headers: { "X-Team": "a" } };
  const sidecar = await Sidecar.start(t, turns(call("all__echo", { message: "over HTTP" })), servers({ all }));
  const [result] = await sidecar.turn(await sidecar.open());
  assert.match(texts(result)[0], /over HTTP/);
});

test("a client gives servers for one session, with a secret that nothing stores", async (t) => {
  const at = folder(t);
  const memory = command(npm("mcp-server-memory"), { env: { MEMORY_FILE_PATH: join(at, "m.json"), API_TOKEN: "s3cr3t" } });
  const create = call("my_memory-5a4a9d__create_entities", { entities: [{ name: "a", entityType: "b", observations: [] }] });
  const sidecar = await Sidecar.start(t, turns(create), {}, at);
  const session = await sidecar.open({ mcpServers: { "my memory": memory } });
  const other = await sidecar.open();
  const listed = await state(sidecar, { sessionId: session });
  assert.deepEqual(
    listed.map(({ name }) => name),
    ["my memory"],
  );
  assert.deepEqual(await state(sidecar, { sessionId: other }), []);
  await sidecar.turn(session);
  const [ready] = await state(sidecar, { sessionId: session });
  assert.deepEqual([ready.state, ready.tools.length], ["ready", 9]);
  await sidecar.end();
  assert.ok(!readFileSync(join(at, "store", "threadhold.db")).includes("s3cr3t"));
});

test("a Python server of the newer revision: structured content, 100 MB, an end and a restart", async (t) => {
  const names = ["structured", "huge", "crash", "look"];
  const answers = turns(...names.map((name) => call(`py__${name}`)));
  const sidecar = await Sidecar.start(t, answers, servers({ py: hostile }));
  const session = await sidecar.open();
  const [structured] = await sidecar.turn(session);
  assert.deepEqual(JSON.parse(texts(structured)[0]), { answer: 42 });
  const [huge] = await sidecar.turn(session);
  assert.match(texts(huge)[0], /^\[the server answered with an error: the answer has \d+ bytes and the limit is 8388608/);
  const [crash] = await sidecar.turn(session);
  assert.match(texts(crash)[0], /the server ended \(exit status: 7\); standard error: .*crashed on purpose/);
  const [look] = await sidecar.turn(session);
  assert.deepEqual(texts(look), ["looked"]);
  const [listed] = await state(sidecar);
  assert.deepEqual([listed.state, listed.revision], ["ready", "2026-07-28"]);
});

test("a tool that is added in mid-session is one reported break at the next turn", async (t) => {
  const answers = [...turns(call("py__grow")), said, said];
  const sidecar = await Sidecar.start(t, answers, servers({ py: hostile }));
  const session = await sidecar.open();
  await sidecar.turn(session);
  // The list is read again before the next turn sees it.
  while (!(await state(sidecar))[0].tools.some(({ name }) => name === "py__grown"));
  await sidecar.turn(session);
  await sidecar.turn(session);
  const broken = sidecar.events.filter(({ type }) => type === "prefixBroken");
  assert.deepEqual(
    broken.map(({ causes }) => causes),
    [["tools"]],
  );
  assert.ok(broken[0].lostTokens > 0);
});

test("a trusted server's read-only tools run without asking", async (t) => {
  const answers = turns(call("py__look"), call("py__structured"));
  const sidecar = await Sidecar.start(t, answers, servers({ py: { ...hostile, trust: true } }));
  const session = await sidecar.open();
  await sidecar.turn(session);
  await sidecar.turn(session);
  assert.deepEqual(sidecar.asked, ["py__structured"]);
});

test("a server that cannot be started delays no session and is told once", async (t) => {
  const broken = command([process.execPath, "-e", "console.error('no configuration'); process.exit(3)"]);
  const missing = command(["true"], { env: { TOKEN: { keyEnv: "NO_SUCH_KEY" } } });
  const sidecar = await Sidecar.start(t, [said, said], servers({ broken, missing }));
  const session = await sidecar.open();
  await sidecar.turn(session);
  await sidecar.turn(session);
  const notices = sidecar.events.filter(({ type, message }) => type === "messageAdded" && message.kind === "serverFailed");
  const told = notices.map(({ message }) => message.parts[0].text);
  assert.equal(
    told[0],
    'The tool server "broken" is not ready: ended at its start (exit status: 3); standard error: no configuration.\n' +
      'The tool server "missing" is not ready: the key of TOKEN is missing: neither model/key nor the environment has NO_SUCH_KEY.',
  );
  const states = (await state(sidecar)).map(({ name, state }) => [name, state]);
  assert.deepEqual(states, [
    ["broken", "failed"],
    ["missing", "failed"],
  ]);
});

test("a server that cannot be used leaves the others", async (t) => {
  const bad = { ...hostile, url: "http://127.0.0.1/" };
  const sidecar = await Sidecar.start(t, turns(call("py__look")), servers({ bad, py: hostile }));
  const [result] = await sidecar.turn(await sidecar.open());
  assert.deepEqual(texts(result), ["looked"]);
  const told = sidecar.logged.find((message) => message.includes("mcp.servers.bad"));
  assert.match(told, /mcp\.servers\.bad: the server "bad" needs one of command and url; it was ignored/);
});

test("a server that lies about its tools is offered as far as it can be", async (t) => {
  const answers = turns(call("liar__odd"), call("liar__number"), call("liar__safe"));
  const sidecar = await Sidecar.start(t, answers, servers({ liar }));
  const session = await sidecar.open();
  const [odd] = await sidecar.turn(session);
  assert.deepEqual(texts(odd), ["[the server answered with an error: its answer has another form than the protocol's]"]);
  const [number] = await sidecar.turn(session);
  assert.deepEqual(texts(number), ["n", '{"n":"no number"}']);
  const [safe] = await sidecar.turn(session);
  assert.deepEqual(texts(safe), ["safe was called"]);
  assert.deepEqual(sidecar.asked, ["liar__odd", "liar__number", "liar__safe"]);
  const [{ tools, leftOut }] = await state(sidecar);
  assert.deepEqual(
    tools.map(({ name }) => name).filter((name) => !/^[a-zA-Z0-9_-]{1,64}$/.test(name)),
    [],
  );
  assert.deepEqual(leftOut, ["text: its schema is not that of an object", "far: its schema refers to another document"]);
});

test("a server that answers nothing any more is ended and started again", async (t) => {
  const sidecar = await Sidecar.start(t, turns(call("liar__hang"), call("liar__safe")), servers({ liar: { ...liar, timeoutSeconds: 1 } }));
  const session = await sidecar.open();
  const [hung] = await sidecar.turn(session);
  assert.deepEqual(texts(hung), ["[no result within 1 s; the call was cancelled]"]);
  const [before] = running(sidecar, "liar.py");
  while ((await state(sidecar, { sessionId: session }))[0].state !== "failed");
  const [{ reason }] = await state(sidecar, { sessionId: session });
  assert.equal(reason, "the server answered nothing any more and was ended");
  while (existsSync(`/proc/${before}`)) await state(sidecar);
  const [safe] = await sidecar.turn(session);
  assert.deepEqual(texts(safe), ["safe was called"]);
});

test("a server that floods with requests fills no memory and is ended", async (t) => {
  const sidecar = await Sidecar.start(t, turns(call("liar__flood"), call("liar__safe")), servers({ liar: { ...liar, timeoutSeconds: 1 } }));
  const session = await sidecar.open();
  const [flooded] = await sidecar.turn(session);
  assert.deepEqual(texts(flooded), ["[no result within 1 s; the call was cancelled]"]);
  while ((await state(sidecar, { sessionId: session }))[0].state !== "failed");
  const status = readFileSync(`/proc/${sidecar.process.pid}/status`, "utf8");
  assert.ok(Number(/VmHWM:\s+(\d+) kB/.exec(status)[1]) < 400_000, status);
  const [safe] = await sidecar.turn(session);
  assert.deepEqual(texts(safe), ["safe was called"]);
});

test("a server ends when the last session that has it is closed", async (t) => {
  const answers = [...turns(call("py__look")), ...turns(call("py__look"))];
  const sidecar = await Sidecar.start(t, answers, servers({ py: hostile }));
  const sessions = [await sidecar.open(), await sidecar.open()];
  for (const session of sessions) await sidecar.turn(session);
  const [pid] = running(sidecar, "hostile.py");
  await sidecar.request("session/close", { sessionId: sessions[0] });
  assert.deepEqual(running(sidecar, "hostile.py"), [pid]);
  await sidecar.request("session/close", { sessionId: sessions[1] });
  while (existsSync(`/proc/${pid}`)) await state(sidecar);
  assert.equal((await state(sidecar))[0].state, "off");
});

test("a workspace's file starts no server", async (t) => {
  const at = folder(t);
  mkdirSync(join(at, ".threadhold"));
  const started = join(at, "started");
  writeFileSync(join(at, ".threadhold", "config.toml"), `[mcp.servers.bad]\ncommand = "touch"\nargs = ["${started}"]\n`);
  const sidecar = await Sidecar.start(t, [said], {}, at);
  await sidecar.turn(await sidecar.open());
  assert.deepEqual([await state(sidecar), existsSync(started)], [[], false]);
});

test("two sessions of a folder share a process, which ends with the sidecar", async (t) => {
  const answers = [...turns(call("py__look")), ...turns(call("py__look"))];
  const sidecar = await Sidecar.start(t, answers, servers({ py: hostile }));
  for (const session of [await sidecar.open(), await sidecar.open()]) await sidecar.turn(session);
  const pids = running(sidecar, "hostile.py");
  assert.equal(pids.length, 1);
  await sidecar.end();
  assert.ok(!existsSync(`/proc/${pids[0]}`));
});

/** The servers that a sidecar runs with this program. */
function running(sidecar, program) {
  const found = children(sidecar.process.pid);
  return found.filter((pid) => readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(program));
}

/** The processes that a process started. */
function children(pid) {
  const list = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
  return list.split(" ").filter(Boolean);
}

test("prompts and resources are content for a message", async (t) => {
  const sidecar = await Sidecar.start(t, [said], servers({ all: everything, py: hostile }));
  const sessionId = await sidecar.open();
  const { prompts, resources } = await sidecar.request("mcp/contents", { sessionId });
  const args = prompts.find(({ name }) => name === "args-prompt");
  assert.deepEqual(
    [args.server, args.arguments.map(({ name, required }) => [name, required])],
    [
      "all",
      [
        ["city", true],
        ["state", false],
      ],
    ],
  );
  const read = (more) => sidecar.request("mcp/content", { sessionId, server: "all", ...more });
  const { content } = await read({ prompt: "args-prompt", arguments: { city: "Bern" } });
  assert.match(content[0].text, /Bern/);
  const { uri } = resources[0];
  const [resource] = (await read({ uri })).content;
  assert.deepEqual([resource.type, resource.uri, resource.text.length > 0], ["resource", uri, true]);
  await assert.rejects(read({ prompt: "no such" }), /the server answered with an error: .*no such/);
  await assert.rejects(read({ prompt: "a", uri }), /one of prompt and uri is required/);
  await assert.rejects(read({ server: "none", uri }), /has no server "none"/);
});

test("an agent has the tools of its parent's servers that its tools name", async (t) => {
  const start = call("start_agent", { task: "Look.", tools: ["py__look"] });
  const look = call("py__look");
  const sidecar = await Sidecar.start(t, [start, look, look, said, said], { ...servers({ py: hostile }), ownTools: ["start_agent"] });
  const session = await sidecar.open();
  // The parent's call waits for the agent's, so that each of them has one of the two.
  let agent;
  const asked = new Promise((resolve) => {
    sidecar.hold = async ({ sessionId }) => {
      if (sessionId === session) return asked;
      agent = sessionId;
      return resolve();
    };
  });
  await sidecar.turn(session);
  const done = async () => (await sidecar.request("session/messages", { sessionId: agent })).messages;
  const found = async () => (await done()).find(({ role }) => role === "tool");
  let result = await found();
  while (result === undefined) result = await found();
  assert.deepEqual(texts(result.parts[0]), ["looked"]);
  assert.deepEqual(sidecar.asked, ["py__look", "py__look"]);
});
