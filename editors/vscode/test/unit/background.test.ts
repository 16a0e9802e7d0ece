// Sessions in the background: the answer is written to its end, queued messages are asked, and only then is the session
// closed. The real sidecar, a scripted model, no editor.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Client, type Session } from "@threadhold/client";
import { sidecar } from "@threadhold/client/node";
import { Background } from "../../src/session/background.ts";
import { BINARY, emptyFolder } from "./support/window.ts";

/** Fails the test where it does not come; nothing here takes long. */
const TIMEOUT_MS = 30_000;

function becomes(session: Session, isSo: () => boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`it stays ${session.view.snapshot.state}, ${session.freshness}`)), TIMEOUT_MS);
    const look = (): void => {
      if (!isSo()) return;
      clearTimeout(late);
      resolve();
    };
    session.onChange(look);
    session.onFreshness(look);
    look();
  });
}

const request = (text: string) => [{ type: "text" as const, text }];

test("an answer that nobody looks at goes on, and so does what waits behind it", async () => {
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  const asked: string[] = [];
  const client = await Client.start({
    launch: sidecar({ command: BINARY }),
    client: { name: "test" },
    storage: { path: emptyFolder() },
    settings: { model: { name: "m", window: 8_000, wire: "editor", roles: ["user", "assistant"] } },
    handlers: {
      modelComplete: async ({ messages }) => {
        asked.push(JSON.stringify(messages.at(-1)));
        await held;
        return `Answer ${asked.length}.`;
      },
    },
  });
  try {
    const params = { workspaceFolder: emptyFolder() };
    const session = await client.openSession(params);
    let shown: Session | undefined = session;
    const background = new Background(
      (one) => one === shown,
      () => undefined,
    );
    await session.ask(request("First."));
    await session.ask(request("Second."));
    await becomes(session, () => session.view.snapshot.state === "generating" && session.view.snapshot.queue.length === 1);

    shown = await client.openSession(params);
    await background.leave(session);
    assert.equal(session.freshness, "live", "what is busy is not closed");
    assert.equal(background.find(session.id), session);
    release();
    await becomes(session, () => session.freshness === "closed");
    assert.equal(background.find(session.id), undefined);
    assert.equal(asked.length, 2, "what waited was asked");
    const again = await client.openSession({ ...params, sessionId: session.id });
    const said = JSON.stringify(again.view.snapshot.messages);
    assert.ok(said.includes("Answer 1.") && said.includes("Answer 2."), said);

    // One that rests is closed at once, but not while it is about to be shown.
    shown = again;
    await background.leave(again);
    assert.equal(again.freshness, "live");
    shown = undefined;
    await background.closeResting();
    assert.equal(again.freshness, "closed");
  } finally {
    await client.dispose();
  }
});
