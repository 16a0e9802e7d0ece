// Compactions one behind the other: the newest is a card, those before it are one row that opens.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Editor } from "../../support/editor.ts";
import { Panel } from "../../support/panel.ts";

test("earlier compactions of a stack are one row, which opens to their cards", async () => {
  const settings = { "threadhold.binary": process.env["THREADHOLD_BIN"], "workbench.colorTheme": "Default Dark Modern" };
  await using editor = await Editor.start({ extensions: ["dist/threadhold.vsix"], files: { "a.txt": "hello\n" }, settings });
  await editor.command("threadhold: Show Compaction Demo");
  const panel = await Panel.on(editor);
  await panel.frame.locator(".row.compaction:focus").waitFor();
  for (const focus of ["the tests", "the dates", "the names"]) {
    await panel.write(panel.frame.getByRole("button", { name: "Redo with Focus…" }), focus);
    await editor.page.keyboard.press("Enter");
    await panel.cards
      .filter({ hasText: `Focus: ${focus}` })
      .getByRole("button", { name: "Undo" })
      .waitFor();
  }
  const stack = panel.frame.locator(".row.stack");
  await stack.getByText("2 earlier compactions").waitFor();
  const drawn = panel.frame.locator(".row.stack ~ .row.compaction");
  assert.equal(await drawn.count(), 1, "behind it, the newest alone is a card");
  await editor.shoot("stack-1-folded");
  await stack.locator("summary").first().click();
  await stack.getByText("Focus: the tests").waitFor();
  assert.equal(await stack.locator(".row.compaction").count(), 2);
  // What a card in it loads, it shows.
  await stack
    .getByText(/^Original messages/)
    .first()
    .click();
  await stack.getByText("Result: //! What day and hour").waitFor();
  await stack.getByText("Result: //! What day and hour").scrollIntoViewIfNeeded();
  await editor.shoot("stack-2-open");
  await stack.locator("summary").first().click();
  await stack.getByText("Focus: the tests").waitFor({ state: "hidden" });
  await editor.change({ ...settings, "workbench.colorTheme": "Default Light Modern" }, panel.frame.locator("body.vscode-light").waitFor());
  await editor.shoot("stack-3-light");
});
