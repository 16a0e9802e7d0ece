// Nothing of the sidecar is left behind: not after `dispose`, not when it does not want to end, not when whoever started
// it is gone.

import { equal, match, ok, rejects } from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import test from "node:test";
import { SidecarError } from "../src/node.js";
import { BINARY, within } from "./support/binary.js";
import { ANSWERING, becomes, isThere, launching, pidOf, program, startClient, until, WORKSPACE } from "./support/client.js";

test("dispose ends the process in order, with everything on disk", async () => {
  const lines: string[] = [];
  const client = await startClient({}, { log: ({ message }) => lines.push(message) });
  const session = await client.openSession({ workspaceFolder: WORKSPACE });
  const pid = pidOf(client);
  const waits = session.request("context/compact", {}).catch(() => {});
  await client.dispose();
  await waits;
  ok(!isThere(pid));
  equal(client.status.state, "disposed");
  await rejects(client.request("session/list", {}), (error) => {
    return error instanceof SidecarError && error.fault === "disposed";
  });
  await client.dispose();
});

test("a process that does not want to end is ended", async () => {
  const stubborn = program(`process.on("SIGTERM", () => {}); setInterval(() => {}, 1000); ${ANSWERING}
    const on = ({ id, method }) => method === "initialize" && say({ id, result: { capabilities: { experimental: {
      threadhold: { protocolVersion: 1, methods: [] } } } } });`);
  const client = await startClient({ launch: launching(stubborn), stopTimeoutMs: 100 });
  const pid = pidOf(client);
  await client.dispose();
  ok(!isThere(pid));
});

test("a start that fails leaves nothing", async () => {
  const slow = program(`setTimeout(() => {}, 600000); console.error("pid " + process.pid); process.stdin.resume();`);
  let pid = 0;
  const started = startClient(
    { launch: launching(slow), startTimeoutMs: 500 },
    {
      log: ({ message }) => (pid = Number(/pid (\d+)/.exec(message)?.[1])),
    },
  );
  await rejects(started, (error) => error instanceof SidecarError && error.fault === "noAnswer");
  ok(pid > 0 && !isThere(pid));
});

test("a client that is disposed while it waits to start the sidecar again waits no longer", async () => {
  const client = await startClient({ restart: { firstDelayMs: 600_000, mostDelayMs: 600_000 } });
  process.kill(pidOf(client), "SIGKILL");
  await becomes(client, "restarting");
  const waits = client.request("session/list", {});
  const fails = rejects(waits, (error) => error instanceof SidecarError && error.fault === "disposed");
  await within("the end", client.dispose());
  await within("the word of it", fails);
  equal(client.status.state, "disposed");
});

test("the sidecar ends when the process that started it is killed", async () => {
  const parent = spawn(process.execPath, [new URL("support/parent.js", import.meta.url).pathname, BINARY], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [said] = (await within("the sidecar's number", once(parent.stdout, "data"))) as [Buffer];
  const pid = Number(said.toString());
  match(said.toString(), /^\d+\n$/);
  ok(isThere(pid));
  parent.kill("SIGKILL");
  await until("the end of the sidecar", () => !isThere(pid));
});
