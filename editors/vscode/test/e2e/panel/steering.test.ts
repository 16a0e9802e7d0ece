// A context that is full: the prompt overflows in the middle of a turn, progress is shown before the answer goes on, an
// undo that cannot be says what can; a compaction is redone with a focus, edited, asked about first; messages are pinned
// and left out.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Editor, until } from "../../support/editor.ts";
import { long, read } from "../../support/files.ts";
import { Panel } from "../../support/panel.ts";
import { Probe } from "../../support/probe.ts";
import { PACKAGES, SCRIPTED } from "../../support/settings.ts";

const FILES = Object.fromEntries(["one", "two", "three", "four"].map((name) => [`${name}.rs`, long(name, 4_000)]));
// Without excerpts, no text of a file that is summed up is in the prompt.
const SETTINGS = {
  ...SCRIPTED,
  "threadhold.sidecarSettings": { limitHistory: "off", excerptShare: 0, triggers: { background: false, preTurnTokens: false } },
};

test("overflow in a turn, redo, edit, pin, leave out", async () => {
  using probe = new Probe({
    window: 20_000,
    answers: [
      { say: "One.", calls: [read("c1", "one.rs")] },
      { say: "Two.", calls: [read("c2", "two.rs")] },
      { say: "Three.", calls: [read("c3", "three.rs")] },
      { say: "Four.", calls: [read("c4", "four.rs")] },
      { say: "All four are read." },
      { say: "I go on." },
    ],
    holdSummaryWhile: "held",
  });
  probe.hold("held");
  await using editor = await Editor.start({ extensions: PACKAGES, files: FILES, settings: SETTINGS, environment: { PROBE: probe.folder } });
  const panel = await Panel.open(editor);
  await panel.ask("Read all four.");
  const running = panel.cards.filter({ hasText: "Compacting" });
  await running.waitFor();
  assert.match((await running.textContent()) ?? "", /exceeded its token limit/);
  assert.equal(await panel.answer("All four are read.").count(), 0, "progress is shown before the answer goes on");
  await editor.shoot("steering-1-compacting");
  probe.release("held");
  await panel.answer("All four are read.").waitFor();
  const card = panel.cards.filter({ hasText: "Compacted" }).last();
  await card.waitFor();
  assert.match((await card.textContent()) ?? "", /Compacted \d+ rounds?[\d,]+ → [\d,]+ tokens/);
  const reads = probe.asked
    .at(-1)
    ?.messages.flatMap(({ parts }) => parts)
    .filter((part) => JSON.stringify(part).includes('"call"'));
  assert.ok((reads?.length ?? 0) < 4, "old rounds are not in the prompt");

  // It cannot be undone, for the prompt would not fit; the panel says what can be done.
  await card.getByRole("button", { name: "Undo" }).click();
  await panel.frame.getByText("Choose a model with a context window of at least").waitFor();
  await editor.shoot("steering-2-cannot-undo");
  await panel.button("Dismiss").click();

  await panel.write(card.getByRole("button", { name: "Redo with Focus…" }), "the names of the tokens");
  await editor.page.keyboard.press("Enter");
  await panel.cards.filter({ hasText: "Focus: the names of the tokens" }).waitFor();
  assert.match(JSON.stringify(probe.asked.at(-1)), /the names of the tokens/);
  await editor.shoot("steering-3-redone");

  const redone = panel.cards.filter({ hasText: "Focus: the names of the tokens" });
  await panel.write(redone.getByRole("button", { name: "Edit Summary…" }), "## Goal\nRead all four files, slowly.");
  await editor.page.keyboard.press("Control+Enter");
  const edited = panel.cards.filter({ hasText: "You edited the summary." });
  await edited.waitFor();
  await edited.getByText("Summary", { exact: true }).click();
  await edited.getByText("Read all four files, slowly.").waitFor();
  await editor.shoot("steering-4-edited");

  // A pin and what is left out.
  const last = panel.answer("All four are read.");
  await last.hover();
  await last.getByRole("button", { name: /^Pin/ }).click();
  await last.getByText("Pinned").waitFor();
  await panel.meter.click();
  await panel.frame.getByText("Pinned to every prompt").waitFor();
  await editor.shoot("steering-5-pinned");
  await panel.frame.locator(".pins").getByRole("button", { name: "Unpin" }).click();
  await last.getByText("Pinned").waitFor({ state: "detached" });
  await panel.meter.click();
  await last.hover();
  await last.getByRole("button", { name: "Exclude from Prompts" }).click();
  await last.getByText("Excluded from prompts").waitFor();
  await panel.ask("Go on.");
  await panel.answer("I go on.").waitFor();
  const next = JSON.stringify(probe.asked.at(-1));
  assert.ok(next.includes("slowly") && !next.includes("All four are read."), "the prompt has the user's words, and not what was left out");
  await editor.shoot("steering-6-left-out");
  probe.keepsToLimits({ scripted: 20_000 });
});

test("compacted from the palette, messages brought back, undone from the palette", async () => {
  const names = Object.keys(FILES);
  using probe = new Probe({
    window: 64_000,
    answers: [
      ...names.map((name, at) => ({ say: `I read ${name}.`, calls: [read(`c${at}`, name)] })),
      { say: "All four are read." },
      { say: "I go on." },
      { say: "I see the first one." },
      { say: "I see all of them." },
    ],
  });
  await using editor = await Editor.start({ extensions: PACKAGES, files: FILES, settings: SETTINGS, environment: { PROBE: probe.folder } });
  const panel = await Panel.open(editor);
  await panel.ask("Read all four.");
  await panel.answer("All four are read.").waitFor();
  const sees = (path: string) => JSON.stringify(probe.asked.at(-1)?.messages).includes(JSON.stringify(FILES[path]).slice(1, -1));
  assert.ok(sees("one.rs"));
  await editor.command("threadhold: Compact Conversation");
  const asked = editor.page.locator(".quick-input-widget");
  await asked.getByText(/A model summarizes \d+ round/).waitFor();
  await editor.shoot("steering-7-compact-now");
  await asked.locator("input").fill("what was read first");
  await editor.page.keyboard.press("Enter");
  const card = panel.cards.filter({ hasText: "Focus: what was read first" });
  await card.waitFor();
  assert.match((await card.textContent()) ?? "", /Requested by you/);
  assert.match(JSON.stringify(probe.asked.at(-1)), /what was read first/);
  await panel.ask("And then?");
  await panel.answer("I go on.").waitFor();
  assert.ok(!sees("one.rs"), "the oldest file is summed up");

  // Its text comes back to the letter; the rest stays summed up.
  await card.getByText(/^Original messages/).click();
  await card.getByRole("checkbox", { name: /^Restore: Result: \/\/ one/ }).check();
  await editor.shoot("steering-8-chosen");
  await card.getByRole("button", { name: "Restore 1 Message" }).click();
  await until(() => probe.asked.filter(({ summary }) => summary).length === 2, "it is summed up again");
  await panel.cards.filter({ hasText: "Superseded by a newer compaction." }).waitFor();
  await panel.ask("What do you see?");
  await panel.answer("I see the first one.").waitFor();
  assert.ok(sees("one.rs"), "what was brought back is in the prompt");
  await editor.shoot("steering-9-brought-back");

  // Undone, the one before it is in force again; undone once more, all is there.
  const undone = panel.cards.filter({ hasText: "Compaction undone" });
  for (const times of [1, 2]) {
    await editor.command("threadhold: Undo Last Compaction");
    await until(async () => (await undone.count()) === times, `${times} are undone`);
  }
  await panel.ask("And now?");
  await panel.answer("I see all of them.").waitFor();
  await editor.shoot("steering-10-undone");
  for (const path of names) assert.ok(sees(path), `${path} is in the prompt`);
  probe.keepsToLimits({ scripted: 64_000 });
});

test("a compaction waits for the user's word", async () => {
  using probe = new Probe({
    window: 20_000,
    answers: [
      { say: "One.", calls: [read("c1", "one.rs")] },
      { say: "Two.", calls: [read("c2", "two.rs")] },
      { say: "Three.", calls: [read("c3", "three.rs")] },
      { say: "Three are read." },
    ],
  });
  await using editor = await Editor.start({
    extensions: PACKAGES,
    shared: true,
    files: FILES,
    settings: { ...SETTINGS, "threadhold.compaction": "ask", "threadhold.threshold": 13_000 },
    environment: { PROBE: probe.folder },
  });
  const panel = await Panel.open(editor);
  await panel.ask("Read three.");
  const card = panel.cards.filter({ hasText: "Review this compaction" });
  await card.waitFor();
  await editor.shoot("steering-11-review");
  assert.equal(await panel.answer("Three are read.").count(), 0);
  // Another session has no part in it, and does not end it.
  await editor.command("threadhold: New Session");
  await panel.frame.getByText("Ask about this folder.").waitFor();
  assert.equal(await panel.cards.count(), 0, "the card stands in its own session");
  await panel.button("Show Sessions").click();
  await panel.frame.locator(".sessions button.open").filter({ hasText: "Read three." }).click();
  await card.waitFor();
  await panel.write(card.getByRole("button", { name: "Edit…" }), "## Goal\nRead three files, as the user said.");
  await editor.page.keyboard.press("Control+Enter");
  await panel.answer("Three are read.").waitFor();
  assert.match(JSON.stringify(probe.asked.at(-1)), /Read three files, as the user said/);
  await until(async () => (await panel.cards.filter({ hasText: "Compacted" }).count()) >= 1, "the card shows it in force");
  await editor.shoot("steering-12-reviewed");
});
