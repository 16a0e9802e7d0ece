// The extension in the editor at all: it installs, its panel opens, a model that the sidecar asks by itself answers, the
// walkthrough and the log are there.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Editor, until } from "../../support/editor.ts";
import { Panel } from "../../support/panel.ts";

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
  await editor.command("threadhold: Open Walkthrough");
  await editor.page.getByText("Decide what the agent may do").first().waitFor();
  await editor.shoot("open-3-walkthrough");
  await editor.command("threadhold: Show Log");
  const channels = editor.page.locator(".part.panel select").first();
  await until(async () => (await channels.inputValue()).includes("threadhold"), "the log channel is shown");
  assert.match((await panel.frame.locator("body").textContent()) ?? "", /What is in this folder/);

  // A window without a folder says what to do.
  const page = await editor.another("nothing");
  const other = await Panel.open(editor, page);
  await other.frame.getByText("No folder is open").waitFor();
  await other.button("Open Folder…").waitFor();
  assert.equal(await other.prompt.isDisabled(), true);
  await editor.shoot("open-4-no-folder", page);
});
