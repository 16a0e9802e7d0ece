// A sidecar that ends while it is needed: it is started again, sessions are as they were, and every request is answered,
// if only with the word that nobody knows whether it was done.

import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { chmodSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { type Client, type ClientStatus, type Handlers, type ModelStream, RequestLost, SidecarError } from "../src/node.js";
import { BINARY, emptyFolder, within } from "./support/binary.js";
import { ANSWERING, becomes, isThere, later, launching, pidOf, program, shows, startClient, WORKSPACE } from "./support/client.js";

import { type Frame, listeningIn } from "./support/frames.js";

/** A model that says half of its answer the first time and then nothing, and all of it later. */
function halting(): { handlers: Handlers; halted: Promise<void> } {
  const halted = later();
  let asked = 0;
  const modelComplete = async (_: unknown, stream: ModelStream, signal: AbortSignal) => {
    asked += 1;
    if (asked > 1) return "All of it.";
    stream.say("Half of");
    await stream.flushed();
    halted.resolve();
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    return;
  };
  return { handlers: { modelComplete }, halted: halted.promise };
}

/** Kills the sidecar; the client knows it then. */
async function kill(client: Client): Promise<void> {
  const noticed = new Promise<void>((resolve) => {
    const listening = client.on("status", () => {
      listening.dispose();
      resolve();
    });
  });
  process.kill(pidOf(client), "SIGKILL");
  await within("its end", noticed);
}

test("killed in the middle of an answer, it goes on with what was said", async () => {
  const { handlers, halted } = halting();
  const statuses: ClientStatus[] = [];
  const client = await startClient({ handlers }, { status: (status) => statuses.push(status) });
  const session = await client.openSession({ workspaceFolder: WORKSPACE, title: "Killed" });
  const events: string[] = [];
  session.onEvent(({ type }) => events.push(type));
  const freshness: string[] = [];
  session.onFreshness((now) => freshness.push(now));
  const { messageId } = await session.ask("Tell me all.");
  await session.request("draft/set", { text: "And then" });
  await halted;
  await shows(session, "the half of it", ({ snapshot }) => JSON.stringify(snapshot.streaming).includes("Half of"));
  const { stream } = session.view.snapshot;

  await kill(client);
  await becomes(client, "running");
  await shows(session, "the new process", () => session.freshness === "live" && freshness.length > 1);
  equal(session.view.snapshot.messages[0]?.id, messageId);
  equal(session.view.snapshot.title, "Killed");
  equal(session.view.snapshot.draft, "And then");
  equal(session.view.snapshot.streaming, undefined);
  equal(session.view.snapshot.turns[0]?.status, "failed");
  equal(session.view.snapshot.state, "error");
  ok(session.view.snapshot.stream !== stream);
  equal(events.at(-1), "snapshot");
  deepEqual(freshness, ["offline", "live"]);
  const restarting = statuses.find(({ state }) => state === "restarting");
  ok(restarting?.state === "restarting" && restarting.attempt === 1);
  equal(restarting.because.fault, "died");
  match(restarting.because.message, /on SIGKILL\. Acknowledged changes are saved/);

  await session.request("turn/regenerate", {});
  await shows(session, "the whole answer", ({ snapshot }) => snapshot.turns.at(-1)?.status === "completed");
  match(JSON.stringify(session.view.snapshot.messages.at(-1)), /All of it\./);
  deepEqual(session.view.snapshot, (await session.request("session/subscribe", {})).snapshot);
});

test("a request in flight fails, and says whether it can be sent again", async () => {
  const client = await startClient();
  const session = await client.openSession({ workspaceFolder: WORKSPACE });
  process.kill(pidOf(client), "SIGSTOP");
  const fork = session.request("session/fork", {});
  const list = client.request("session/list", {});
  const keyed = session.request("session/fork", { idempotencyKey: "once" });
  const lost = (canBeSentAgain: boolean, advice: RegExp) => (error: unknown) => {
    ok(error instanceof RequestLost);
    equal(error.canBeSentAgain, canBeSentAgain);
    equal(error.cause.fault, "died");
    match(error.message, advice);
    return true;
  };
  const all = Promise.all([
    rejects(fork, lost(false, /session\/fork\. .* Check the session's snapshot before sending it again/)),
    rejects(list, lost(true, /Send it again unchanged/)),
    rejects(keyed, lost(true, /Send it again unchanged/)),
  ]);
  process.kill(pidOf(client), "SIGKILL");
  await within("their answers", all);
});

test("what a user asks is asked once, however often the sidecar ends", async () => {
  const client = await startClient({ handlers: { modelComplete: async () => "Yes." } });
  const session = await client.openSession({ workspaceFolder: WORKSPACE });
  process.kill(pidOf(client), "SIGSTOP");
  const asked = session.ask("Are you there?");
  process.kill(pidOf(client), "SIGKILL");
  const { messageId } = await within("the answer to turn/start", asked);
  await shows(session, "the answer", ({ snapshot }) => snapshot.turns.at(-1)?.status === "completed");
  const requests = session.view.snapshot.messages.filter(({ role }) => role === "user");
  deepEqual(
    requests.map(({ id }) => id),
    [messageId],
  );
});

test("requests that are made meanwhile wait, those that are given up do not", async () => {
  const client = await startClient({ restart: { firstDelayMs: 200 } });
  await client.openSession({ workspaceFolder: WORKSPACE, sessionId: "waits" });
  process.kill(pidOf(client), "SIGKILL");
  await becomes(client, "restarting");
  const waits = client.request("server/diagnostics", {});
  const abort = new AbortController();
  const givenUp = client.request("session/list", {}, { signal: abort.signal });
  abort.abort();
  await rejects(givenUp, /session\/list was cancelled; nothing was done/);
  equal(client.status.state, "restarting");
  const { sessions } = await within("the answer of the next process", waits);
  deepEqual(
    sessions.map(({ sessionId }) => sessionId),
    ["waits"],
  );
});

test("a sidecar that ends again and again is given up, until somebody asks", async () => {
  const client = await startClient({ restart: { attempts: 2, firstDelayMs: 1 } });
  await kill(client);
  await becomes(client, "running");
  await kill(client);
  await becomes(client, "running");
  await kill(client);
  await becomes(client, "stopped");
  await rejects(client.request("session/list", {}), (error) => error instanceof SidecarError && error.fault === "died");
  await client.restart();
  equal(client.status.state, "running");
  await client.request("session/list", {});
});

test("a sidecar that was well for a while is started again as if it was the first time", async () => {
  const client = await startClient({ restart: { attempts: 1, firstDelayMs: 1, healthyAfterMs: 0 } });
  for (let n = 0; n < 3; n++) {
    await kill(client);
    await becomes(client, "running");
  }
});

test("where the program is gone meanwhile, it is not tried again and again", async () => {
  const path = join(emptyFolder(), "threadhold");
  symlinkSync(BINARY, path);
  const client = await startClient({ launch: launching(path), restart: { attempts: 100 } });
  unlinkSync(path);
  writeFileSync(path, "");
  chmodSync(path, 0o644);
  await kill(client);
  await becomes(client, "stopped");
  ok(client.status.state === "stopped" && client.status.because.fault === "notExecutable");
});

test("a restart that is asked for ends the old process in order", async () => {
  const client = await startClient({ handlers: { modelComplete: async () => "Yes." } });
  const session = await client.openSession({ workspaceFolder: WORKSPACE });
  await session.ask("Will this stay?");
  await shows(session, "the answer", ({ snapshot }) => snapshot.turns.at(-1)?.status === "completed");
  const { messages } = structuredClone(session.view.snapshot);
  const pid = pidOf(client);
  await client.restart();
  ok(!isThere(pid));
  equal(client.status.state, "running");
  await shows(session, "the session", () => session.freshness === "live");
  deepEqual(session.view.snapshot.messages, messages);
});

test("a sidecar that writes what is no message is ended, and started again", async () => {
  const good = `say({ id, result: { capabilities: { experimental: { threadhold: { protocolVersion: 1, methods: [] } } } } });`;
  const broken = program(`${ANSWERING} const on = ({ id, method }) => {
    if (method === "initialize") ${good} else if (id !== undefined) console.log("oops\\r\\n\\r\\n");
  };`);
  const faults: string[] = [];
  const status = (now: ClientStatus) => now.state === "restarting" && faults.push(now.because.fault);
  const client = await startClient({ launch: launching(broken) }, { status });
  await rejects(client.request("session/list", {}), (error) => error instanceof RequestLost);
  await becomes(client, "running");
  deepEqual(faults, ["brokenStream"]);
});

test("keys are given to each process anew", async () => {
  const sent: Frame[] = [];
  let given = 0;
  const launch = listeningIn(launching(BINARY), () => false, sent);
  const client = await startClient({ launch, keys: async () => ({ SOME_KEY: `secret ${++given}` }) });
  await kill(client);
  await becomes(client, "running");
  const values = sent.filter(({ method }) => method === "model/key").map(({ params }) => params?.["value"]);
  deepEqual(values, ["secret 1", "secret 2"]);
});
