// Code of an answer is put into the editor at the cursor; where there is no editor, the panel says so.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Editor, until } from "../../support/editor.ts";
import { Panel } from "../../support/panel.ts";
import { Probe } from "../../support/probe.ts";
import { PACKAGES, SCRIPTED } from "../../support/settings.ts";

test("code goes to the cursor, and in the place of what is selected", async () => {
  using probe = new Probe({ answers: [{ say: "Write this:\n\n```js\nlet a = 1;\nlet b = 2;\n```\n" }] });
  await using editor = await Editor.start({
    extensions: PACKAGES,
    shared: true,
    files: { "a.js": "first\nsecond\n" },
    settings: SCRIPTED,
    environment: { PROBE: probe.folder },
  });
  const { page } = editor;
  const panel = await Panel.open(editor);
  await panel.ask("What do I write?");
  const insert = panel.frame.getByRole("group", { name: "Code, js" }).getByRole("button", { name: "Insert at Cursor" });
  await insert.click();
  await panel.frame.getByText("No text editor is open; open a file, place the cursor, and insert again.").waitFor();
  await panel.button("Dismiss").click();

  await editor.open("a.js");
  await page.locator(".monaco-editor .view-lines").first().click();
  await page.keyboard.press("Control+Home");
  await page.keyboard.press("Shift+End");
  await insert.click();
  // The editor has the focus: what is typed goes behind the code.
  await until(async () => (await page.locator(".monaco-editor .view-line").count()) === 4, "the code is in the file");
  await editor.shoot("insert-1-inserted");
  await page.keyboard.type(" // typed");
  await page.keyboard.press("Control+S");
  await until(() => editor.read("a.js") !== "first\nsecond\n", "the file is saved by its key");
  assert.equal(editor.read("a.js"), "let a = 1;\nlet b = 2; // typed\nsecond\n");
});
