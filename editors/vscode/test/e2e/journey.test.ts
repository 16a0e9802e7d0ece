// A session as a person has it, from the first question over a compaction, its undoing and a restart of the whole editor
// to the next question. The model is one of the editor's, and reads by a tool of the editor's.
// rows: V3 V4 V24 V26 V37 M1 N6

import assert from "node:assert/strict";
import { test } from "node:test";
import { Editor, until } from "../support/editor.ts";
import { Panel } from "../support/panel.ts";
import type { Asked } from "../extension/src/script.ts";
import { long, read } from "../support/files.ts";
import { PROBE, Probe } from "../support/probe.ts";

const settings = (triggers: object) => ({
  "threadhold.binary": process.env["THREADHOLD_BIN"],
  "threadhold.model": "probe/scripted",
  "threadhold.approve.editor": "allow",
  // A model is to sum up, when the next turn begins; shortening old results would do.
  "threadhold.sidecarSettings": { limitHistory: "off", triggers },
});

test("ask, read, compact, look, undo, restart, go on", async () => {
  using probe = new Probe({
    window: 24_000,
    answers: [
      { say: "I read the **lexer** first.", calls: [read("c1", "lexer.rs")] },
      { say: "Then the parser.", calls: [read("c2", "parser.rs")] },
      { say: "Both are read: the lexer scans, the parser waits." },
      { say: "The tests are missing." },
      { say: "I write it down.", calls: [{ id: "c3", name: "write_file", input: { path: "notes.md", text: "# Notes\n" } }] },
      { say: "The notes are there." },
      { say: "I still see all of it." },
    ],
  });
  const lexer = long("lexer", 3_500);
  await using editor = await Editor.start({
    extensions: ["dist/threadhold.vsix", PROBE],
    files: { "lexer.rs": lexer, "parser.rs": long("parser", 3_500) },
    settings: settings({ background: false }),
    environment: { PROBE: probe.folder },
  });
  let panel = await Panel.open(editor);
  await panel.ask("Read the lexer and the parser.");
  await panel.answer("Both are read").waitFor();
  assert.match((await panel.call("probe_read").first().textContent()) ?? "", /lexer\.rs.*done in/);
  await editor.shoot("journey-1-read");

  await panel.ask("What is missing?");
  await panel.answer("The tests are missing").waitFor();
  const card = panel.cards.first();
  await editor.shoot("journey-2-compacted");
  assert.match((await card.textContent()) ?? "", /Compacted \d rounds?.*near its limit.*A model summed up/);
  const [, , whole, summary, short] = probe.asked;
  assert.ok(summary?.summary, "the model was asked for a summary before the answer");
  assert.ok(said(short).length < said(whole).length, "and the answer's prompt is smaller");

  // What it says, and what it covers, with the original text.
  await card.getByText("Summary", { exact: true }).click();
  assert.match((await card.locator(".markdown").textContent()) ?? "", /Understand the folder/);
  await card.getByText(/^What it covers/).click();
  await card.getByText("Result: // lexer").click();
  assert.equal(await card.locator(".originals pre").first().textContent(), lexer);
  await editor.shoot("journey-3-covered");

  // A call that waits for a decision, and words that were not sent.
  await panel.ask("Write that down.");
  await panel.button("Allow").waitFor();
  await panel.prompt.fill("And then? I am not sure yet");
  await editor.page.locator(".tab.active").filter({ hasText: "proposed by the agent" }).waitFor();
  await editor.shoot("journey-4-waiting");
  const before = probe.asked;

  await editor.down();
  await editor.up();
  panel = await Panel.open(editor);
  await panel.button("Allow").waitFor();
  await editor.shoot("journey-5-restarted");
  await until(async () => (await panel.prompt.inputValue()) === "And then? I am not sure yet", "the draft is back");
  assert.equal(await panel.frame.locator("h1").textContent(), "Read the lexer and the parser.");
  assert.match((await panel.cards.first().textContent()) ?? "", /Compacted \d rounds?/);
  assert.equal(probe.asked.length, before.length, "nothing was asked by itself");

  await panel.button("Allow").click();
  await panel.answer("The notes are there").waitFor();
  assert.equal(editor.read("notes.md"), "# Notes\n");
  const after = probe.asked.at(-1);
  const last = before.at(-1);
  assert.deepEqual(after?.messages.slice(0, last?.messages.length), last?.messages, "the prompt goes on with the same bytes");
  await editor.shoot("journey-6-gone-on");


  // Nothing but an overflow is to compact from now on: the open session follows the settings.
  editor.settings(settings({ background: false, preTurnTokens: false }));
  await panel.meter.click();
  await panel.frame.getByText("What starts a compaction").waitFor();
  await until(async () => !(await panel.frame.locator(".breakdown").textContent())?.includes("a turn begins with"), "the trigger is off");
  await editor.shoot("journey-6-breakdown");
  await panel.meter.click();

  // Undone, the prompt is again what it was before the compaction, and goes on.
  await panel.button("Undo").click();
  await panel.cards.filter({ hasText: "Compaction undone" }).waitFor();
  await panel.prompt.fill("");
  await panel.ask("What do you still see?");
  await panel.answer("I still see all of it").waitFor();
  await editor.shoot("journey-7-undone");
  const undone = probe.asked.at(-1);
  assert.deepEqual(undone?.messages.slice(0, whole?.messages.length), whole?.messages, "as if it had not been compacted");
});

function said(asked: Asked | undefined): string {
  return JSON.stringify(asked?.messages);
}
