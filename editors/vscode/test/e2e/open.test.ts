// The extension in the editor at all: it installs, its panel opens, and a question is answered.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Editor } from "../support/editor.ts";
import { Panel } from "../support/panel.ts";

test("the package installs, its panel opens and answers", async () => {
  await using editor = await Editor.start({
    extensions: ["dist/threadhold.vsix"],
    files: { "a.txt": "hello\n" },
    settings: { "threadhold.binary": process.env["THREADHOLD_BIN"], "threadhold.configuredModel": { wire: "scripted" } },
  });
  const panel = await Panel.open(editor);
  await editor.shoot("open-1-empty");
  await panel.ask("What is in this folder?");
  await panel.frame.locator(".row.answer").first().waitFor();
  await editor.shoot("open-2-answer");
  assert.match((await panel.frame.locator("body").textContent()) ?? "", /What is in this folder/);
});
