// A session as a person has it: files are read until the prompt overflows, what was read is summed up, that is undone once
// another model has the room for it, the whole editor is restarted while a call waits, and it goes on. The models are the
// editor's, and so is the tool that reads. After each step the prompt is compared whole.

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import type { Asked } from "../../extension/src/script.ts";
import { Editor, until } from "../../support/editor.ts";
import { filesWith, long, read } from "../../support/files.ts";
import { Panel } from "../../support/panel.ts";
import { Probe } from "../../support/probe.ts";
import { PACKAGES, SCRIPTED } from "../../support/settings.ts";

const NAMES = ["lexer", "parser", "printer", "checker"];
const FILES = Object.fromEntries(NAMES.map((name) => [`${name}.rs`, long(name, 2_000)]));
const WINDOWS = { scripted: 16_000, large: 64_000 };
const NOTES = { path: "notes.md", text: "# Notes\n" };

// Only an overflow compacts, and a model sums up: shortening old results would do here.
const { "threadhold.model": _, ...rest } = SCRIPTED;
const SETTINGS = { ...rest, "threadhold.sidecarSettings": { limitHistory: "off", triggers: { background: false, preTurnTokens: false } } };

// Messages as the editor hands them to a model.
const user = (text: string) => ({ role: "User", parts: [{ text }] });
const answer = (text: string) => ({ role: "Assistant", parts: [{ text }] });
const called = (text: string, call: string, name: string, input: object) => ({
  role: "Assistant",
  parts: [{ text }, { call, name, input }],
});
const result = (call: string, text: string) => ({ role: "User", parts: [{ result: call, content: [{ text }] }] });

test("ask, overflow, compact, undo with a larger model, restart, go on", async () => {
  using probe = new Probe({
    window: WINDOWS.scripted,
    large: WINDOWS.large,
    answers: [
      { say: "I read the **lexer** first.", calls: [read("c1", "lexer.rs")] },
      { say: "Then the parser.", calls: [read("c2", "parser.rs")] },
      { say: "And the printer.", calls: [read("c3", "printer.rs")] },
      { say: "And the checker.", calls: [read("c4", "checker.rs")] },
      { say: "All are read: the printer waits for the parser." },
      { say: "I still see all of it." },
      { say: "I write it down.", calls: [{ id: "c5", name: "write_file", input: NOTES }] },
      { say: "The notes are there." },
    ],
    holdSummaryWhile: "held",
  });
  probe.hold("held");
  await using editor = await Editor.start({ extensions: PACKAGES, files: FILES, settings: SETTINGS, environment: { PROBE: probe.folder } });
  let panel = await Panel.open(editor);

  // The files are read, and the last one is too much: a summary is made before the answer goes on.
  await panel.ask("Read all four files.");
  await panel.cards.filter({ hasText: "Compacting" }).waitFor();
  assert.match((await panel.call("probe_read").first().textContent()) ?? "", /lexer\.rs.*done in/);
  assert.equal(await panel.answer("All are read").count(), 0, "progress is shown before the answer goes on");
  await editor.shoot("journey-1-compacting");
  probe.release("held");
  await panel.answer("All are read").waitFor();
  const card = panel.cards.first();
  assert.match((await card.textContent()) ?? "", /Compacted \d rounds?.*exceeded its token limit.*A model summarized/);
  const beforeOverflow = newest(probe, ({ summary }) => !summary, 1);
  const compacted = newest(probe);
  assert.ok(compacted.tokens < beforeOverflow.tokens, "the prompt is smaller than before");
  await editor.shoot("journey-2-compacted");

  // What it says, and what it covers, with the original text.
  await card.getByText("Summary", { exact: true }).click();
  assert.match((await card.locator(".markdown").textContent()) ?? "", /Understand the folder/);
  await card.getByText(/^Original messages/).click();
  await card.getByText("Result: // lexer").click();
  assert.equal(await card.locator(".originals pre").first().textContent(), FILES["lexer.rs"]);
  await editor.shoot("journey-3-covered");
  await card.getByText(/^Original messages/).click();
  await card.getByText("Summary", { exact: true }).click();

  // It cannot be undone as things are; what can be done is said, and done: another model is chosen.
  await card.getByRole("button", { name: "Undo" }).click();
  await panel.frame.getByText("Choose a model with a context window of at least").waitFor();
  await editor.shoot("journey-4-cannot-undo");
  await panel.button("Choose Another Model…").click();
  const choice = editor.page.locator(".quick-input-list .monaco-list-row").filter({ hasText: "Scripted, large" });
  await choice.waitFor();
  await editor.shoot("journey-5-choose");
  await choice.click();
  await panel.button("Model: Scripted, large. Choose Model…").waitFor();
  await card.getByRole("button", { name: "Undo" }).click();
  await panel.cards.filter({ hasText: "Compaction undone" }).waitFor();
  await until(async () => (await panel.frame.getByText("Shortened in the prompt").count()) === 0, "the model sees all of it");
  await editor.shoot("journey-6-undone");
  await panel.ask("What do you still see?");
  await panel.answer("I still see all of it").waitFor();
  const whole = [
    ...beforeOverflow.messages,
    called("And the checker.", "c4", "probe_read", { path: "checker.rs" }),
    result("c4", FILES["checker.rs"] ?? ""),
    answer("All are read: the printer waits for the parser."),
    user("What do you still see?"),
  ];
  assert.equal(newest(probe).model, "large");
  assert.deepEqual(newest(probe).messages, whole, "as if it had never been compacted");

  // Compacted by hand, with a focus; then a call waits for a decision, and words are typed that are not sent.
  await panel.compactNow(editor, "the order of the files");
  const focused = panel.cards.filter({ hasText: "Focus: the order of the files" });
  await focused.waitFor();
  await panel.ask("Write that down.");
  await panel.button("Allow").waitFor();
  await panel.prompt.fill("And then? I am not sure yet");
  await editor.page.locator(".tab.active").filter({ hasText: "Proposed by Agent" }).waitFor();
  await until(() => filesWith("And then? I am not sure yet", join(editor.root, "data")).length > 0, "the draft is stored");
  await editor.shoot("journey-7-waiting");
  const waiting = newest(probe);
  assert.match(JSON.stringify(waiting.messages), /Understand the folder/, "the summary is in the prompt");
  const cards = await panel.cards.allTextContents();
  const asked = probe.asked.length;

  await editor.down();
  await editor.up();
  panel = await Panel.open(editor);
  await panel.button("Allow").waitFor();
  await editor.shoot("journey-8-restarted");
  await until(async () => (await panel.prompt.inputValue()) === "And then? I am not sure yet", "the draft is back");
  assert.equal(await panel.frame.locator("h1").textContent(), "Read all four files.");
  assert.deepEqual(await panel.cards.allTextContents(), cards, "the compactions are back, the undone one and the one in force");
  await panel.button("Model: Scripted, large. Choose Model…").waitFor();
  assert.equal(probe.asked.length, asked, "nothing was asked by itself");

  // The next prompt is the one before, and what came since.
  await panel.button("Allow").click();
  await panel.answer("The notes are there").waitFor();
  assert.equal(editor.read("notes.md"), NOTES.text);
  assert.deepEqual(newest(probe).messages, [
    ...waiting.messages,
    called("I write it down.", "c5", "write_file", NOTES),
    result("c5", "Created notes.md (2 lines)."),
  ]);
  await editor.shoot("journey-9-gone-on");
  probe.keepsToLimits(WINDOWS);
});

/** The newest request, or one before it, of those that are meant. */
function newest(probe: Probe, isMeant: (asked: Asked) => boolean = () => true, before = 0): Asked {
  const asked = probe.asked.filter(isMeant).at(-1 - before);
  assert.ok(asked !== undefined, "the model was asked");
  return asked;
}
