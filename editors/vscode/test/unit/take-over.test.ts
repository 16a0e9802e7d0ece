// The session of a chat that another window has: taken at once where it rests, else when its answer is there or the user
// does not want to wait. Two real sidecars on one store, a scripted model, no editor.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Client, type Session } from "@threadhold/client";
import { sidecar } from "@threadhold/client/node";
import { openForWriting, type Waiting } from "../../src/participant/take-over.ts";
import { BINARY, emptyFolder } from "./support/window.ts";

const MODEL = { name: "m", window: 8_000, wire: "editor", roles: ["user", "assistant"] } as const;

/** Another window with the session open, and this one beside it. */
class Two {
  readonly params = { workspaceFolder: emptyFolder(), sessionId: "chat-1", driver: "editor" } as const;
  readonly #storage = emptyFolder();
  readonly #clients: Client[] = [];

  async client(): Promise<Client> {
    const client = await Client.start({ launch: sidecar({ command: BINARY }), client: { name: "test" }, storage: { path: this.#storage } });
    this.#clients.push(client);
    return client;
  }

  /** The other window, in the middle of a turn. */
  async answering(): Promise<Session> {
    const session = await (await this.client()).openSession(this.params);
    await session.request("prompt/render", {
      input: { externalId: "1", content: "TurnInput." },
      model: { ...MODEL, roles: [...MODEL.roles] },
    });
    return session;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.dispose()));
  }
}

/** Waits, and tells when it begins to. */
function waiting(): Waiting & { begun: Promise<void>; goOn: () => void; stop: () => void; count: () => number } {
  const begun = Promise.withResolvers<void>();
  const enough = Promise.withResolvers<void>();
  const abort = new AbortController();
  let count = 0;
  return {
    begin: () => {
      count += 1;
      begun.resolve();
      return enough.promise;
    },
    signal: abort.signal,
    begun: begun.promise,
    goOn: enough.resolve,
    stop: () => abort.abort(),
    count: () => count,
  };
}

test("an answer in another window is waited for, and nothing of it is lost", async () => {
  await using two = new Two();
  const other = await two.answering();
  const wait = waiting();
  const opening = openForWriting(await two.client(), two.params, wait);
  await wait.begun;
  await other.request("round/append", { round: { id: "1/1", assistant: { parts: [{ type: "text", text: "The whole answer." }] } } });
  await other.request("turn/end", { status: "completed" });
  const session = await opening;
  assert.equal(session.view.snapshot.heldBy, undefined);
  assert.deepEqual(
    session.view.snapshot.turns.map(({ status }) => status),
    ["completed"],
  );
  assert.match(JSON.stringify(session.view.snapshot.messages), /The whole answer\./);
});

test("who does not want to wait has the session at once, and the turn there is over", async () => {
  await using two = new Two();
  await two.answering();
  const wait = waiting();
  const opening = openForWriting(await two.client(), two.params, wait);
  await wait.begun;
  wait.goOn();
  const session = await opening;
  assert.equal(session.view.snapshot.heldBy, undefined);
  await session.request("prompt/render", { input: { externalId: "2", content: "Go on." }, model: { ...MODEL, roles: [...MODEL.roles] } });
});

test("a request that is taken back while it waits leaves the session where it is", async () => {
  await using two = new Two();
  const other = await two.answering();
  const wait = waiting();
  const client = await two.client();
  const opening = openForWriting(client, two.params, wait);
  await wait.begun;
  wait.stop();
  await assert.rejects(opening, { name: "AbortError" });
  assert.equal(client.sessions.size, 0);
  await other.request("turn/end", { status: "completed" });
});

test("a session that rests in another window is taken at once", async () => {
  await using two = new Two();
  const other = await two.answering();
  await other.request("turn/end", { status: "completed" });
  const wait = waiting();
  const session = await openForWriting(await two.client(), two.params, wait);
  assert.equal(session.view.snapshot.heldBy, undefined);
  assert.equal(wait.count(), 0);
});
