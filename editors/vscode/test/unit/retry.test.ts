// A question that is asked again in other words keeps what was attached to it. The real sidecar, a scripted model, no
// editor.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Client } from "@threadhold/client";
import { sidecar } from "@threadhold/client/node";
import { retry } from "../../src/session/steering.ts";
import { BINARY, emptyFolder } from "./support/window.ts";

test("a question in other words keeps its files and pictures", async () => {
  const asked: string[] = [];
  let told = (): void => undefined;
  const client = await Client.start({
    launch: sidecar({ command: BINARY }),
    client: { name: "test" },
    storage: { path: emptyFolder() },
    settings: { model: { name: "m", window: 8_000, wire: "editor", roles: ["user", "assistant"] } },
    handlers: {
      modelComplete: async ({ messages }) => {
        asked.push(JSON.stringify(messages));
        told();
        return "I see.";
      },
    },
  });
  try {
    const session = await client.openSession({ workspaceFolder: emptyFolder() });
    const answered = (times: number): Promise<void> =>
      new Promise((resolve) => {
        const look = (): void => {
          const { state, messages } = session.view.snapshot;
          const isAnswer = messages.at(-1)?.role === "assistant";
          if (asked.length === times && isAnswer && state !== "generating") resolve();
        };
        told = look;
        session.onChange(look);
        look();
      });
    const picture = { type: "image" as const, mimeType: "image/png", data: "iVBORw0KGgo=" };
    await session.ask([{ type: "text", text: "What is it?" }, picture], {
      contextFiles: [{ path: "notes.txt", text: "words of the file" }],
    });
    await answered(1);
    const question = session.view.snapshot.messages.find(({ role }) => role === "user");
    await retry(session, question?.id ?? "", "What is in it?");
    await answered(2);
    const [first = "", second = ""] = asked;
    for (const prompt of [first, second]) {
      assert.match(prompt, /words of the file/);
      assert.match(prompt, /image\/png/);
    }
    assert.match(second, /What is in it\?/);
    assert.doesNotMatch(second, /What is it\?/);
  } finally {
    await client.dispose();
  }
});
