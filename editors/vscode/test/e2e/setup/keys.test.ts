// The key of a configured model whose settings name none: set in the panel, it is sent with the next request, to its address
// and to no other. Where no model needs a key, that is said.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Locator } from "playwright-core";
import { Editor, until } from "../../support/editor.ts";
import { Panel } from "../../support/panel.ts";
import { Provider } from "../../support/provider.ts";

const KEY = "the-key-of-nobody-4712";

test("a key reaches the model that it is set for, without a name in the settings", async () => {
  using provider = await Provider.start([{ say: "It came with a key." }, { say: "Still with a key." }]);
  using other = await Provider.start([]);
  const settings = (model: object): Record<string, unknown> => ({
    "threadhold.binary": process.env["THREADHOLD_BIN"],
    "threadhold.model": "configured",
    "threadhold.configuredModel": model,
  });
  const model = { wire: "openai-chat", name: "nameless", baseUrl: provider.address, window: 64_000 };
  await using editor = await Editor.start({
    extensions: ["dist/threadhold.vsix"],
    files: { "a.txt": "hello\n" },
    settings: { "threadhold.binary": process.env["THREADHOLD_BIN"] },
  });
  let panel = await Panel.open(editor);
  const failed = (): Locator => panel.frame.locator(".row.notice.error");
  /** Restarts the editor with another configured model; the editor notices a change of the file only then. */
  const configure = async (model: { name: string; [part: string]: unknown }): Promise<void> => {
    await editor.down();
    editor.settings(settings(model));
    await editor.up();
    panel = await Panel.open(editor);
    await panel.button(`Model: ${model.name}. Choose Model…`).waitFor();
    await until(() => panel.prompt.isEnabled(), "it can be asked");
  };

  // Where no model needs a key, what is missing is said, and nothing is asked for.
  await editor.command("threadhold: Set API Key");
  await editor.toast("No configured model needs an API key").waitFor();
  await editor.shoot("keys-1-nothing-to-set");

  await configure(model);
  await panel.ask("Do you know me?");
  await failed().getByRole("button", { name: "Set API Key…" }).click();
  const input = editor.page.locator(".quick-input-widget input");
  await until(async () => (await input.getAttribute("type")) === "password", "the key is asked for");
  // A key is checked at once: what is wrong with it is said before anything is asked with it.
  provider.rejected.add("mistyped");
  await input.fill("mistyped");
  await editor.page.keyboard.press("Enter");
  await editor.toast("nameless could not be asked: ").waitFor();
  // By its host: the user does not know the name that the extension gave it.
  await editor.toast(`The API key for ${new URL(provider.address).host} was rejected. Check that it is complete`).waitFor();
  assert.equal(provider.keys.at(-1), "mistyped");
  await editor.shoot("keys-2-rejected");
  await editor.toast("nameless could not be asked: ").getByRole("button", { name: "Set API Key…" }).click();
  await until(async () => (await input.getAttribute("type")) === "password", "the key is asked for again");
  await input.fill(KEY);
  await editor.shoot("keys-3-asked");
  await editor.page.keyboard.press("Enter");
  await editor.toast("The API key works: nameless answered.").waitFor();
  assert.equal(provider.keys.at(-1), KEY);
  await failed().getByRole("button", { name: "Try Again" }).click();
  await panel.answer("It came with a key.").waitFor();
  assert.equal(provider.keys.at(-1), KEY);

  // Another process of the sidecar has it again.
  await configure({ ...model, name: "renamed" });
  await panel.ask("And now?");
  await panel.answer("Still with a key.").waitFor();
  assert.equal(provider.keys.at(-1), KEY);

  // Another address is somebody else's.
  await configure({ ...model, name: "elsewhere", baseUrl: other.address });
  await panel.ask("Who are you?");
  await failed().getByRole("button", { name: "Set API Key…" }).waitFor();
  assert.deepEqual([...new Set(other.keys)], [undefined], "no key goes there");
});
