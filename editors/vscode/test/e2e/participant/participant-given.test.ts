// What a user gives @threadhold in the editor's own chat: files, folders, what cannot be taken; and the command that
// compacts. A picture can be attached only where some extension has the proposed API for it, so none is here.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ChatView } from "../../support/chatview.ts";
import { Editor } from "../../support/editor.ts";
import { long, read } from "../../support/files.ts";
import { Panel } from "../../support/panel.ts";
import { Probe } from "../../support/probe.ts";
import { PACKAGES, SCRIPTED } from "../../support/settings.ts";

test("files and a folder are in the prompt; what cannot be taken is said to the user and to the model", async () => {
  using probe = new Probe({ answers: [{ say: "I saw all of it." }, { say: "I still see it." }] });
  await using editor = await Editor.start({
    extensions: PACKAGES,
    files: { "one.rs": "fn one() {}\n", "sub/two.rs": "", "sub/deep/three.rs": "", "large.txt": "word ".repeat(300_000) },
    settings: { ...SCRIPTED, "threadhold.sidecarSettings": { limitHistory: "off", triggers: { background: false, preTurnTokens: false } } },
    environment: { PROBE: probe.folder },
    before: async ({ folder }) => writeFileSync(join(folder, "blob.bin"), Buffer.alloc(64)),
  });
  const chat = await ChatView.open(editor);
  writeFileSync(
    join(probe.folder, "attach.json"),
    JSON.stringify({ query: "@threadhold What is this?", paths: ["one.rs", "sub", "large.txt", "blob.bin"] }),
  );
  await editor.command("Probe: Attach the Files of the Test");
  await chat.answered("I saw all of it.");
  await chat.answer.getByText("large.txt was not attached: it is larger than 1 MB.").waitFor();
  await chat.answer.getByText("blob.bin is not a text file").waitFor();
  await editor.shoot("participant-given-1");
  const [asked] = probe.asked;
  const words = JSON.stringify(asked?.messages);
  for (const said of [
    "fn one() {}",
    "A folder that contains:",
    "deep/",
    "two.rs",
    "cannot be read: large.txt was not attached",
    "cannot be read: blob.bin",
    "What is this?",
  ]) {
    assert.ok(words.includes(said), said);
  }

  // It belongs to that request for good, whatever becomes of the files.
  editor.write("one.rs", "fn other() {}\n");
  await chat.ask("@threadhold And now?", "I still see it.");
  const [, again] = probe.asked;
  assert.deepEqual(again?.messages.slice(0, asked?.messages.length), asked?.messages);
});

test("/compact makes a summary with a focus, and the next request has it", async () => {
  const FILES = Object.fromEntries(["one", "two"].map((name) => [`${name}.rs`, long(name, 4_000)]));
  using probe = new Probe({
    window: 20_000,
    answers: [
      { say: "One.", calls: [read("c1", "one.rs")] },
      { say: "Two.", calls: [read("c2", "two.rs")] },
      { say: "Both are read." },
      { say: "I know what they say." },
    ],
  });
  await using editor = await Editor.start({ extensions: PACKAGES, files: FILES, settings: SCRIPTED, environment: { PROBE: probe.folder } });
  const chat = await ChatView.open(editor);
  await chat.ask("@threadhold Read both.", "Both are read.");
  await chat.ask("@threadhold /compact Keep every name.", "Compacted");
  await chat.compacted.waitFor();
  await editor.shoot("participant-given-2-compact");
  const summed = probe.asked.findLast(({ summary }) => summary);
  assert.match(JSON.stringify(summed?.messages), /Keep every name\./);
  await chat.ask("@threadhold What do they say?", "I know what they say.");
  const words = JSON.stringify(probe.asked.at(-1)?.messages);
  assert.match(words, /conversation-summary/);
  assert.ok(!words.includes("/compact") && !words.includes("Keep every name."), "the command is no request of the conversation");

  // The link of a compaction outlives its session.
  const panel = await Panel.open(editor);
  await editor.command("threadhold: Show Sessions");
  await panel.frame
    .locator(".sessions li")
    .filter({ hasText: "editor chat" })
    .getByRole("button", { name: /^Delete/ })
    .click();
  await editor.page.getByRole("button", { name: "Delete", exact: true }).click();
  await panel.frame.locator(".sessions li").filter({ hasText: "editor chat" }).waitFor({ state: "detached" });
  // The chat and the panel are in the same bar, which shows one of them.
  await editor.command("Chat: Open Chat");
  await chat.compacted.click();
  await panel.frame.getByText("is not in this folder").waitFor();
});
