// @threadhold in the editor's own chat: a summary that comes back after a restart, whichever way the chat is opened again;
// an earlier request sent again; another participant in the same chat; much metadata.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Asked } from "../extension/src/script.ts";
import { addressOf, chatFiles, ChatView } from "../support/chatview.ts";
import { Editor } from "../support/editor.ts";
import { long, read } from "../support/files.ts";
import { Probe } from "../support/probe.ts";
import { PACKAGES, SCRIPTED } from "../support/settings.ts";

const FILES = Object.fromEntries(["one", "two", "three", "four"].map((name) => [`${name}.rs`, long(name, 4_000)]));
const SETTINGS = { ...SCRIPTED, "threadhold.sidecarSettings": { limitHistory: "off", triggers: { background: false, preTurnTokens: false } } };

const said = (role: "user" | "assistant", text: string) => ({ role, parts: [{ text }] });
const turns = ({ asked }: Probe): Asked[] => asked.filter(({ summary }) => !summary);

/** The prompt that goes on from another one with its answer and another request, to the letter. */
const goesOn = (before: Asked | undefined, answer: string, request: string) => [...(before?.messages ?? []), said("assistant", answer), said("user", request)];

// rows: V23 V24 V25 V26 N6
test("three turns, an overflow, a restart: the fourth turn has the summary and the same bytes", async () => {
  using probe = new Probe({
    window: 20_000,
    answers: [
      { say: "I look first.", calls: [read("c1", "one.rs")] },
      { say: "One is read." },
      { say: "Two.", calls: [read("c2", "two.rs")] },
      { say: "Three.", calls: [read("c3", "three.rs")] },
      { say: "Four.", calls: [read("c4", "four.rs")] },
      { say: "All four are read." },
      { say: "You are welcome." },
      { say: "I still know all of it." },
      { say: "And I always will." },
    ],
    holdSummaryWhile: "held",
  });
  probe.hold("held");
  await using editor = await Editor.start({ extensions: PACKAGES, files: FILES, settings: SETTINGS, environment: { PROBE: probe.folder } });
  let chat = await ChatView.open(editor);
  await chat.ask("@threadhold Read the first file.", "One is read.");
  await editor.shoot("participant-1-first");
  await chat.send("@threadhold Read the others.");
  await chat.answer.getByText("Summing up").waitFor();
  await editor.shoot("participant-2-summing-up");
  probe.release("held");
  await chat.answer.filter({ hasText: "All four are read." }).waitFor();
  await chat.answer.getByRole("button", { name: /Compacted/ }).waitFor();
  await editor.shoot("participant-3-compacted");
  await chat.ask("@threadhold Thanks.", "You are welcome.");
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
});
