// An editor without models: the sidecar asks a configured one over its wire. Its thinking is folded away, its key is kept
// by the editor and nowhere else, what was said is exported.

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Editor, until } from "../../support/editor.ts";
import { filesWith } from "../../support/files.ts";
import { Panel } from "../../support/panel.ts";
import { Provider } from "../../support/provider.ts";

const KEY = "the-key-of-nobody-4711";
const THOUGHT = "First the names, then the types.";

test("a configured model answers, thinks, and its key stays with the editor", async () => {
  using provider = await Provider.start([{ think: THOUGHT, say: "It is a **parser**." }, { say: "Still here." }]);
  const shown = Promise.withResolvers<void>();
  provider.pause = shown.promise;
  await using editor = await Editor.start({
    extensions: ["dist/threadhold.vsix"],
    files: { "a.txt": "hello\n" },
    settings: {
      "threadhold.binary": process.env["THREADHOLD_BIN"],
      "threadhold.model": "configured",
      "threadhold.log": "debug",
      "threadhold.configuredModel": {
        wire: "openai-chat",
        name: "thinker",
        baseUrl: provider.address,
        keyEnv: "NOBODYS_KEY",
        window: 64_000,
      },
    },
  });
  const panel = await Panel.open(editor);
  await panel.button("Model: thinker. Choose Model…").waitFor();
  await panel.ask("What is it?");
  const failed = panel.frame.locator(".row.notice.error");
  await failed
    .getByText(/NOBODYS_KEY|key/)
    .first()
    .waitFor();
  await editor.shoot("wire-1-no-key");

  const { keyboard } = editor.page;
  const input = editor.page.locator(".quick-input-widget input");
  await failed.getByRole("button", { name: "Set API Key…" }).click();
  await until(async () => (await input.getAttribute("type")) === "password", "the key is asked for, and not shown");
  const asks = (await editor.page.locator(".quick-input-widget").textContent()) ?? "";
  const { host } = new URL(provider.address);
  const about = `Stored in the editor's secret storage and sent only to ${host} (Press`;
  assert.ok(asks.includes("API Key for thinker") && asks.includes(about), asks);
  await input.fill(KEY);
  await editor.shoot("wire-2-key");
  await keyboard.press("Enter");
  await failed.getByRole("button", { name: "Try Again" }).click();

  // Thinking is folded, and can be looked at while it goes on.
  const thinking = panel.frame.locator("details.thinking");
  await thinking.waitFor();
  assert.equal(await thinking.evaluate((details: HTMLDetailsElement) => details.open), false);
  await thinking.locator("summary").click();
  await thinking.getByText(THOUGHT).waitFor();
  await editor.shoot("wire-3-thinking");
  shown.resolve();
  await panel.answer("It is a parser.").waitFor();
  await thinking.getByText(THOUGHT).waitFor();
  await editor.shoot("wire-4-answer");
  assert.equal(provider.keys.at(-1), KEY);

  // Another process of the sidecar has the key again; after it was deleted none has.
  const [before] = editor.sidecars();
  await editor.command("threadhold: Restart Sidecar");
  await until(() => editor.sidecars().length === 1 && editor.sidecars()[0] !== before, "another one runs");
  await until(async () => !(await panel.prompt.isDisabled()), "it can be asked again");
  await panel.ask("And now?");
  await panel.answer("Still here.").waitFor();
  assert.equal(provider.keys.at(-1), KEY);
  await editor.command("threadhold: Delete API Key");
  await editor.page.locator(".quick-input-list .monaco-list-row").filter({ hasText: "NOBODYS_KEY" }).click();
  const asked = provider.keys.filter((key) => key === KEY).length;
  await panel.ask("Without a key?");
  await failed.waitFor();
  assert.equal(provider.keys.filter((key) => key === KEY).length, asked, "the deleted key is used no more");
  // The browser is where this editor has its secret storage; nothing else may hold the key.
  for (const place of readdirSync(editor.root).filter((name) => name !== "browser")) {
    assert.deepEqual(filesWith(KEY, join(editor.root, place)), [], `no file of ${place} holds the key`);
  }

  await editor.command("threadhold: Export Session");
  await editor.page.locator(".quick-input-list .monaco-list-row").filter({ hasText: "Markdown" }).click();
  await until(async () => (await input.inputValue()).endsWith("What-is-it-.md"), "a name is proposed");
  await keyboard.press("Enter");
  await editor.page.locator(".tab.active").filter({ hasText: "What-is-it-.md" }).waitFor();
  const exported = editor.read("What-is-it-.md");
  assert.match(exported, /What is it\?[\s\S]*It is a \*\*parser\*\*\.[\s\S]*Still here\./);
  await editor.shoot("wire-5-exported");
});

test("a call with broken arguments goes back to the model, and nobody is asked about it", async () => {
  using provider = await Provider.start([
    { say: "I look.", call: { name: "run_command", arguments: '{"command": "ls", "why": "a "list""}' } },
    { say: "I will write it again." },
  ]);
  await using editor = await Editor.start({
    extensions: ["dist/threadhold.vsix"],
    files: { "a.txt": "hello\n" },
    environment: { NOBODYS_KEY: KEY },
    settings: {
      "threadhold.binary": process.env["THREADHOLD_BIN"],
      "threadhold.configuredModel": { wire: "openai-chat", name: "m", baseUrl: provider.address, keyEnv: "NOBODYS_KEY", window: 64_000 },
    },
  });
  const panel = await Panel.open(editor);
  await panel.button("Model: m. Choose Model…").waitFor();
  await panel.ask("What is here?");
  await panel.answer("I will write it again.").waitFor();
  await editor.shoot("wire-6-broken-arguments");
  const told = provider.asked.at(-1) ?? "";
  assert.match(told, /The call did not run, because its arguments are not a JSON object: .*position \d+/);
});
