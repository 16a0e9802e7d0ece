// The extension in the editor at all: it installs, its panel opens.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Editor } from "../support/editor.ts";

test("the package installs and its panel opens", async () => {
  await using editor = await Editor.start({ extensions: ["dist/threadhold.vsix"], files: { "a.txt": "hello\n" } });
  await editor.command("threadhold: Open Agent Panel");
  const panel = editor.page.frameLocator('iframe.webview[src*="threadhold.threadhold"]').frameLocator("#active-frame");
  await panel.locator("h1").waitFor();
  await editor.shoot("open");
  assert.equal(await panel.locator("h1").textContent(), "hello");
});
