// @threadhold in the editor's own chat: a summary that comes back after a restart, whichever way the chat is opened again;
// an earlier request sent again; another participant in the same chat; much metadata.

import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Asked } from "../../extension/src/script.ts";
import { addressOf, ChatView, chatFiles } from "../../support/chatview.ts";
import { Editor } from "../../support/editor.ts";
import { FOUR, READING, read } from "../../support/files.ts";
import { Panel } from "../../support/panel.ts";
import { Probe } from "../../support/probe.ts";
import { PACKAGES, SCRIPTED } from "../../support/settings.ts";

const SETTINGS = {
  ...SCRIPTED,
  "threadhold.sidecarSettings": { limitHistory: "off", triggers: { background: false, preTurnTokens: false } },
};

const said = (role: "User" | "Assistant", text: string) => ({ role, parts: [{ text }] });
const turns = ({ asked }: Probe): Asked[] => asked.filter(({ summary }) => !summary);

/** The prompt that goes on from another one with its answer and another request, to the letter. */
const goesOn = (before: Asked | undefined, answer: string, request: string) => [
  ...(before?.messages ?? []),
  said("Assistant", answer),
  said("User", request),
];

test("three turns, an overflow, a restart: the fourth turn has the summary and the same bytes", async () => {
  using probe = new Probe({
    window: 20_000,
    answers: [...READING, { say: "You are welcome." }, { say: "I still know all of it." }, { say: "And I always will." }],
    holdSummaryWhile: "held",
  });
  probe.hold("held");
  await using editor = await Editor.start({ extensions: PACKAGES, files: FOUR, settings: SETTINGS, environment: { PROBE: probe.folder } });
  let chat = await ChatView.open(editor);
  await chat.ask("@threadhold Read the first file.", "One is read.");
  await editor.shoot("participant-1-first");
  await chat.send("@threadhold Read the others.");
  await chat.answer.getByText("Summing up").waitFor();
  await editor.shoot("participant-2-summing-up");
  probe.release("held");
  await chat.answer.filter({ hasText: "All four are read." }).waitFor();
  await chat.compacted.waitFor();
  await editor.shoot("participant-3-compacted");
  await chat.ask("@threadhold Thanks.", "You are welcome.");
  await chat.stored("You are welcome.");
  const third = turns(probe).at(-1);
  assert.match(JSON.stringify(third?.messages), /conversation-summary/);
  const summaries = probe.asked.filter(({ summary }) => summary).length;
  const [file] = chatFiles(editor);
  assert.ok(file !== undefined, "the editor has the chat on disk");

  await editor.down();
  await editor.up();
  chat = await ChatView.openFromList(editor, "Read the first file");
  await editor.shoot("participant-4-opened-again");
  await chat.ask("@threadhold What do you know?", "I still know all of it.");
  await chat.stored("I still know all of it.");
  const fourth = turns(probe).at(-1);
  assert.deepEqual(fourth?.messages, goesOn(third, "You are welcome.", "What do you know?"));

  writeFileSync(join(probe.folder, "open.txt"), addressOf(file.id));
  await editor.down();
  await editor.up();
  chat = await ChatView.openByAddress(editor);
  await chat.ask("@threadhold Still?", "And I always will.");
  assert.deepEqual(turns(probe).at(-1)?.messages, goesOn(fourth, "I still know all of it.", "Still?"));
  assert.equal(probe.asked.filter(({ summary }) => summary).length, summaries, "no summary was made a second time");
  await editor.shoot("participant-5-by-address");

  // What the second answer says of its compaction still leads to it.
  await chat.compacted.click();
  const panel = await Panel.on(editor);
  await panel.cards.first().waitFor();
  await panel.answer("And I always will.").waitFor();
});

test("an earlier request sent again, another participant beside, and its metadata in the shapes of others", async () => {
  using probe = new Probe({
    window: 20_000,
    answers: [
      ...READING,
      { say: "Other answers second." },
      { say: "Other answers third." },
      { say: "Other answers fourth." },
      { say: "Read once more." },
    ],
  });
  await using editor = await Editor.start({
    extensions: PACKAGES,
    files: FOUR,
    settings: SETTINGS,
    environment: { PROBE: probe.folder, THREADHOLD_BIN: process.env["THREADHOLD_BIN"] ?? "" },
  });
  const chat = await ChatView.open(editor);
  await chat.ask("@threadhold Read the first file.", "One is read.");
  const first = turns(probe).at(-1);
  await chat.ask("@other Look.", "I looked at it.");
  await chat.ask("@threadhold Read the others.", "All four are read.");
  assert.ok(!JSON.stringify(turns(probe)).includes("I looked at it."), "each participant has its own turns alone");

  // The other extension's own prompt, made of its own metadata by the client library.
  await chat.ask("@other And then?", "Other answers second.");
  const second = turns(probe).at(-1);
  assert.deepEqual(second?.messages.at(-1), said("User", "And then?"));
  const block = JSON.stringify(second.messages);
  assert.ok(
    block.includes("SUMMARY OF ANOTHER EXTENSION") && !block.includes("the words of another tool"),
    "`summary` stands for its round",
  );
  await chat.ask("@other Once more?", "Other answers third.");
  assert.deepEqual(
    turns(probe).at(-1)?.messages,
    goesOn(second, "Other answers second.", "Once more?"),
    "a marker of a failed summary hides none",
  );
  await chat.ask("@other At last?", "Other answers fourth.");
  const old = JSON.stringify(turns(probe).at(-1)?.messages);
  assert.ok(
    old.includes("NEWER SUMMARY OF ANOTHER EXTENSION") && !old.includes("Other answers second."),
    "the old name of the anchor is understood",
  );
  await editor.shoot("participant-6-two-participants");

  // The second request to @threadhold is sent again: all that followed it is gone from the chat.
  await chat.sendAgain("Read the others.");
  await chat.answer.filter({ hasText: "Read once more." }).waitFor();
  const again = turns(probe).at(-1);
  assert.deepEqual(
    again?.messages,
    goesOn(first, "One is read.", "Read the others."),
    "no summary of dropped turns, and the first turn to the letter",
  );
  await editor.shoot("participant-7-sent-again");
  const panel = await Panel.open(editor);
  await editor.command("threadhold: Show Sessions");
  const sessions = panel.frame.locator(".sessions li");
  await sessions.first().waitFor();
  await editor.shoot("participant-8-kept");
  assert.equal(await sessions.filter({ hasText: "previous version" }).count(), 0, "what was replaced is a version of its chat");
});

test("five million bytes of metadata, and a store that is gone: the same bytes from what the editor keeps", async () => {
  using probe = new Probe({
    window: 20_000,
    answers: [
      { say: "It is long.", calls: [read("c1", "large.txt")] },
      { say: "Two.", calls: [read("c2", "two.rs")] },
      { say: "Three.", calls: [read("c3", "three.rs")] },
      { say: "All of it is read." },
      { say: "You are welcome." },
      { say: "Nothing is lost." },
    ],
  });
  const large = Array.from({ length: 100_000 }, (_, line) => `${line} ${"word ".repeat(9)}`).join("\n");
  assert.ok(large.length > 5_000_000);
  await using editor = await Editor.start({
    extensions: PACKAGES,
    files: { ...FOUR, "large.txt": large },
    settings: { ...SETTINGS, "threadhold.sidecarSettings": { ...SETTINGS["threadhold.sidecarSettings"], maxToolResultTokens: 2_000 } },
    environment: { PROBE: probe.folder },
  });
  let chat = await ChatView.open(editor);
  await chat.ask("@threadhold Read it.", "All of it is read.");
  await chat.ask("@threadhold Thanks.", "You are welcome.");
  await chat.stored("You are welcome.");
  const before = turns(probe).at(-1);
  const [file] = chatFiles(editor);
  assert.ok(file !== undefined && file.text.length > 5_000_000, "the metadata has the whole result");
  writeFileSync(join(probe.folder, "open.txt"), addressOf(file.id));
  await editor.down();
  rmSync(join(editor.root, "data"), { recursive: true, force: true });
  await editor.up();
  chat = await ChatView.openByAddress(editor);
  await chat.ask("@threadhold Is it lost?", "Nothing is lost.");
  assert.deepEqual(turns(probe).at(-1)?.messages, goesOn(before, "You are welcome.", "Is it lost?"));
  await editor.shoot("participant-9-without-store");
});
