// The walkthrough shows a compaction where there is neither a key nor a model: in a session of its own, with a card that
// can be opened and undone; nobody answers in it, and it can be begun anew.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { Message } from "@threadhold/client";
import { Editor, until } from "../../support/editor.ts";
import { Panel } from "../../support/panel.ts";

/** Texts of the recorded conversation. */
const RECORDED = readFileSync("media/demo/session.jsonl", "utf8")
  .trim()
  .split("\n")
  .slice(1)
  .map((line) => JSON.parse(line) as Message);

test("a compaction is shown without a model: its card, what it covers, its undoing", async () => {
  await using editor = await Editor.start({
    extensions: ["dist/threadhold.vsix"],
    files: { "a.txt": "hello\n" },
    settings: { "threadhold.binary": process.env["THREADHOLD_BIN"] },
  });
  let panel = await Panel.open(editor);
  await editor.command("threadhold: Open Walkthrough");
  await editor.page
    .getByRole("button", { name: /^See a compaction/ })
    .first()
    .click();
  const go = editor.page.getByRole("button", { name: "Show Compaction Demo", exact: true });
  await go.waitFor();
  await editor.shoot("walkthrough-1-step");
  await go.click();
  await panel.answer("You asked to keep the format").waitFor();
  const card = panel.cards.first();
  await panel.frame.locator(".row.compaction:focus").waitFor();
  assert.match((await card.textContent()) ?? "", /Compacted \d+ rounds[\d,]+ → [\d,]+ tokens.*near its token limit.*A model summarized/);
  await editor.shoot("walkthrough-2-card");

  await card.getByText(/^Original messages/).click();
  await card.getByText("Result: //! What day and hour").click();
  const read = RECORDED.flatMap(({ parts }) => parts).find((part) => part.type === "toolResult" && part.toolCallId === "d3");
  const said = read?.type === "toolResult" && typeof read.content !== "string" ? read.content[0] : undefined;
  assert.equal(
    await card.locator(".originals pre").first().textContent(),
    said?.type === "text" ? said.text : "",
    "the original, to the letter",
  );
  await editor.shoot("walkthrough-3-covered");

  // Made again by the script, then undone.
  await panel.write(card.getByRole("button", { name: "Redo with Focus…" }), "the tests");
  await editor.page.keyboard.press("Enter");
  const redone = panel.cards.filter({ hasText: "Focus: the tests" });
  await redone.getByRole("button", { name: "Undo" }).click();
  // The one before is in force again, and is undone too.
  await redone.getByText("Compaction undone").waitFor();
  await panel.frame.getByRole("button", { name: "Undo", exact: true }).click();
  await until(
    async () => (await panel.frame.getByRole("button", { name: "Undo", exact: true }).count()) === 0,
    "no compaction is in force",
  );
  assert.equal(await panel.frame.getByText("Summarized in the prompt").count(), 0);
  await editor.shoot("walkthrough-4-undone");

  // Nobody answers here, also after a restart; what was typed stays.
  await panel.ask("And what now?");
  const nobody = panel.frame.getByText("demo session has no model");
  await nobody.waitFor();
  await until(async () => (await panel.prompt.inputValue()) === "And what now?", "the words are still there");
  await editor.down();
  await editor.up();
  panel = await Panel.open(editor);
  await panel.answer("You asked to keep the format").waitFor();
  await panel.answer("You asked to keep the format").hover();
  await panel.answer("You asked to keep the format").getByRole("button", { name: "Answer Again" }).click();
  await panel.frame.getByText("demo session has no model").waitFor();

  // Begun anew, it takes the place of the one before.
  await editor.command("threadhold: Show Compaction Demo");
  await panel.cards.filter({ hasText: "Compacted" }).getByRole("button", { name: "Undo" }).waitFor();
  await panel.answer("You asked to keep the format").waitFor();
  await panel.button("Show Sessions").click();
  const listed = panel.frame.locator(".sessions li").filter({ hasText: "Demonstration: a compaction" });
  await until(async () => (await listed.count()) === 1, "one demonstration is listed");
  await panel.frame.locator(".sessions").getByRole("button", { name: "New Session" }).click();
  await panel.frame.getByText("Ask about this folder.").waitFor();
});
