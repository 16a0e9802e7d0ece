// The list of sessions: what is shown after reading it failed, and after something changed. The sidecar is the real one; no
// editor is needed.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Backend } from "../../src/session/backend.ts";
import type { Chat } from "../../src/session/chat.ts";
import { Sessions } from "../../src/session/session-list.ts";
import { SessionMarks } from "../../src/session/session-marks.ts";
import { memento } from "./support/memento.ts";
import { Window } from "./support/window.ts";

/** The list in a folder with so many sessions. */
async function listed(window: Window, count: number): Promise<Sessions> {
  const client = await window.client();
  for (let at = 0; at < count; at += 1) {
    const session = await client.openSession({ workspaceFolder: window.folder, sessionId: `s${at}` });
    await session.close();
  }
  const backend: Pick<Backend, "client"> = { client: () => window.client() };
  const chat = { folder: { uri: { fsPath: window.folder } }, session: undefined };
  return new Sessions(backend as Backend, chat as Chat, new SessionMarks(memento()), () => undefined);
}

test("a list that cannot be read is not being read for ever", async () => {
  await using window = new Window();
  const sessions = await listed(window, 2);
  await sessions.list("", false);
  const client = window.client;
  window.client = () => Promise.reject(new Error("the sidecar is not there"));
  await assert.rejects(sessions.list("", false), /the sidecar is not there/);
  assert.deepEqual([sessions.shown?.loading, sessions.shown?.items.length], [false, 2], "what was there stays");
  window.client = client;
  await sessions.refresh();
  assert.deepEqual([sessions.shown?.loading, sessions.shown?.items.length], [false, 2]);
});

test("a list that was extended is read again as far as it is shown", async () => {
  await using window = new Window();
  const sessions = await listed(window, 55);
  await sessions.list("", false);
  assert.deepEqual([sessions.shown?.items.length, sessions.shown?.more], [50, true]);
  await sessions.list("", true);
  assert.deepEqual([sessions.shown?.items.length, sessions.shown?.more], [55, false]);
  await sessions.refresh();
  assert.deepEqual([sessions.shown?.items.length, sessions.shown?.more], [55, false]);
});

test("what was found stays while it is searched again", async () => {
  await using window = new Window();
  const client = await window.client();
  // More than one request searches are newer than what is found.
  const others = Array.from({ length: 66 }, (_, at) => `Other ${at}`);
  for (const title of ["Fix the parser", "Fix the lexer", "Read the parser", ...others]) {
    const session = await client.openSession({ workspaceFolder: window.folder, title });
    await session.close();
  }
  const shown: (string[] | undefined)[] = [];
  const chat = { folder: { uri: { fsPath: window.folder } }, session: undefined };
  const sessions: Sessions = new Sessions(
    { client: () => window.client() } as unknown as Backend,
    chat as Chat,
    new SessionMarks(memento()),
    () => {
      shown.push(sessions.shown?.items.map(({ title }) => title).sort());
    },
  );
  await sessions.list("PARSER fix", false);
  assert.deepEqual([sessions.shown?.items.map(({ title }) => title), sessions.shown?.loading], [["Fix the parser"], false]);
  shown.length = 0;
  // Several changes in a row are one search more, and none of them empties the list.
  await Promise.all([sessions.refresh(), sessions.refresh(), sessions.refresh()]);
  assert.ok(shown.length >= 1 && shown.length <= 2, String(shown.length));
  assert.deepEqual(new Set(shown.map(String)), new Set(["Fix the parser"]));
});

test("pinned sessions stand first, from however far down; archived ones are listed where they are asked for", async () => {
  await using window = new Window();
  // The first is the oldest, which is beyond the first page.
  const sessions = await listed(window, 55);
  await sessions.list("", false);
  const first = (): unknown[] => (sessions.shown?.items ?? []).slice(0, 3).map(({ sessionId, mark }) => [sessionId, mark]);
  assert.deepEqual(first(), [
    ["s54", undefined],
    ["s53", undefined],
    ["s52", undefined],
  ]);
  await sessions.mark("s0", "pinned", true);
  await sessions.mark("s53", "pinned", true);
  await sessions.mark("s54", "archived", true);
  assert.deepEqual(first(), [
    ["s0", "pinned"],
    ["s53", "pinned"],
    ["s52", undefined],
  ]);
  assert.equal(sessions.shown?.archived, "hidden");
  sessions.listArchived(true);
  assert.deepEqual(first(), [
    ["s0", "pinned"],
    ["s53", "pinned"],
    ["s54", "archived"],
  ]);
  // All of them once, in whatever pages they were read.
  await sessions.list("", true);
  assert.equal(new Set(sessions.shown?.items.map(({ sessionId }) => sessionId)).size, 55);
  assert.equal(sessions.shown?.items.length, 55);
  await sessions.mark("s54", "pinned", true);
  assert.equal(sessions.shown?.archived, undefined, "what is pinned is not archived any more");
  // One that was deleted elsewhere is forgotten.
  const client = await window.client();
  await client.request("session/delete", { sessionId: "s0" });
  await sessions.refresh();
  assert.deepEqual(first(), [
    ["s54", "pinned"],
    ["s53", "pinned"],
    ["s52", undefined],
  ]);
});
