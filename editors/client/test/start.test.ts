// A sidecar that cannot be started, or is another program: each fault has its word and says what to do, and nothing is
// left running.

import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { chmodSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { Client, type ClientOptions, ERROR_CODES, findProgram, SidecarError, sidecar } from "../src/node.js";
import { BINARY, emptyFolder } from "./support/binary.js";
import { ANSWERING, launching, program, startClient } from "./support/client.js";

/** Why a client does not start. */
async function fault(options: Partial<ClientOptions>): Promise<SidecarError> {
  const states: string[] = [];
  try {
    const client = await startClient(options, { status: ({ state }) => states.push(state) });
    await client.dispose();
  } catch (error) {
    if (!(error instanceof SidecarError)) throw error;
    deepEqual(states, ["starting", "stopped"]);
    return error;
  }
  throw new Error("it started");
}

test("a program that is missing", async () => {
  const missing = join(emptyFolder(), "threadhold");
  const error = await fault({ launch: launching(missing) });
  equal(error.fault, "missing");
  ok(error.message.includes(missing), error.message);
  match(error.message, /Install threadhold, or set its path in the settings/);
  const byName = await fault({ launch: sidecar({ command: "threadhold-that-is-nowhere" }) });
  equal(byName.fault, "missing");
  match(byName.message, /is not in PATH/);
});

test("a program that may not be run", async () => {
  const path = join(emptyFolder(), "threadhold");
  writeFileSync(path, "");
  chmodSync(path, 0o644);
  const error = await fault({ launch: launching(path) });
  equal(error.fault, "notExecutable");
  ok(error.message.includes(`chmod +x ${path}`), error.message);
});

test("a program that the system cannot run", async () => {
  const path = join(emptyFolder(), "threadhold");
  writeFileSync(path, "#!/nowhere/interpreter\n");
  chmodSync(path, 0o755);
  const error = await fault({ launch: launching(path) });
  equal(error.fault, "notExecutable");
  match(error.message, /built for another platform/);
});

test("a program that ends at once says why, with the last lines of its log", async () => {
  const path = program(`for (let n = 1; n <= 30; n++) console.error("line " + n); process.exitCode = 3;`);
  const error = await fault({ launch: launching(path) });
  equal(error.fault, "diedAtStart");
  match(error.message, /with exit code 3/);
  deepEqual(error.exit, { code: 3, signal: null });
  equal(error.stderr.length, 20);
  equal(error.stderr.at(-1), "line 30");
  match(error.message, /line 30/);
});

test("a program of another version of the protocol", async () => {
  const newer = program(`${ANSWERING} const on = ({ id }) => say({ id, result: { capabilities: { experimental: {
    threadhold: { protocolVersion: 2, serverVersion: "9.0.0", methods: [] } } } } });`);
  const error = await fault({ launch: launching(newer) });
  equal(error.fault, "wrongVersion");
  match(error.message, /9\.0\.0/);
  match(error.message, /protocol version 2, but this client needs version 1/);
  const refuses = program(`${ANSWERING} const on = ({ id }) => say({ id, error: { code: ${ERROR_CODES.UnsupportedVersion},
    message: "no", data: { kind: "UnsupportedVersion", asked: 1, supported: [3, 4] } } });`);
  const refused = await fault({ launch: launching(refuses) });
  equal(refused.fault, "wrongVersion");
  match(refused.message, /versions 3, 4/);
});

test("a program that lacks a method is too old", async () => {
  const old = program(`${ANSWERING} const on = ({ id }) => say({ id, result: { capabilities: { experimental: {
    threadhold: { protocolVersion: 1, serverVersion: "0.0.1", methods: ["session/open"] } } } } });`);
  const error = await fault({ launch: launching(old), needs: ["session/open", "context/undo"] });
  equal(error.fault, "tooOld");
  match(error.message, /0\.0\.1.*lacks context\/undo\. Install a newer threadhold/);
});

test("another program", async () => {
  const server = program(`${ANSWERING} const on = ({ id }) => say({ id, result: { capabilities: { hoverProvider: true } } });`);
  equal((await fault({ launch: launching(server) })).fault, "notThreadhold");
  const talks = program(`console.log("Welcome!\\r\\n\\r\\n"); process.stdin.resume();`);
  const error = await fault({ launch: launching(talks) });
  equal(error.fault, "notThreadhold");
  match(error.message, /Set the path of threadhold in the settings/);
  equal((await fault({ launch: launching("/bin/cat") })).fault, "diedAtStart");
});

test("a program that says nothing is ended", async () => {
  const silent = program(`process.stdin.resume(); setInterval(() => {}, 1000);`);
  const error = await fault({ launch: launching(silent), startTimeoutMs: 300 });
  equal(error.fault, "noAnswer");
});

test("settings that the sidecar refuses at the start are told in its words", async () => {
  const path = join(emptyFolder(), "file");
  writeFileSync(path, "");
  const client = await startClient({ storage: { path } });
  await rejects(client.openSession({ workspaceFolder: "/code" }), (error: Error) => error.message.includes(path));
});

test("the first of several programs that is there is taken, by path or by name", () => {
  const folder = emptyFolder();
  symlinkSync(BINARY, join(folder, "threadhold-here"));
  const missing = join(folder, "missing");
  equal(findProgram({ command: [missing, "threadhold-here"], env: { PATH: folder } }), join(folder, "threadhold-here"));
  equal(findProgram({ env: { THREADHOLD: BINARY } }), BINARY);
  equal(findProgram({ command: "./threadhold-here", cwd: folder }), join(folder, "threadhold-here"));
});

test("what it can do is known once it runs", async () => {
  const client = await startClient({ needs: ["session/open", "context/undo"] });
  ok(client.server?.methods.includes("session/subscribe"));
  equal(client.server?.protocolVersion, 1);
  ok(client instanceof Client);
});
