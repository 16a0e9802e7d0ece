// The key of a configured model whose settings name none: set in the panel, it is sent with the next request, to its address
// and to no other. Where no model needs a key, that is said.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Editor, until } from "../support/editor.ts";
import { Panel } from "../support/panel.ts";
import { Provider } from "../support/provider.ts";

const KEY = "the-key-of-nobody-4712";

test("a key reaches the model that it is set for, without a name in the settings", async () => {
  using provider = await Provider.start([{ say: "It came with a key." }, { say: "Still with a key." }]);
  using other = await Provider.start([]);
  const settings = (model: object): Record<string, unknown> => ({
    "threadhold.binary": process.env["THREADHOLD_BIN"], "threadhold.model": "configured", "threadhold.configuredModel": model,
  });
  const model = { wire: "openai-chat", name: "nameless", baseUrl: provider.address, window: 64_000 };
  await using editor = await Editor.start({ extensions: ["dist/threadhold.vsix"], files: { "a.txt": "hello\n" }, settings: settings(model) });
  const panel = await Panel.open(editor);
  await panel.button("Model: nameless. Choose another…").waitFor();
  await panel.ask("Do you know me?");
  const failed = panel.frame.locator(".row.notice.error");
  await failed.getByRole("button", { name: "Set its key…" }).click();
  const input = editor.page.locator(".quick-input-widget input");
  await until(async () => (await input.getAttribute("type")) === "password", "the key is asked for");
  await input.fill(KEY);
  await editor.shoot("keys-1-asked");
  await editor.page.keyboard.press("Enter");
  await input.waitFor({ state: "hidden" });
  await failed.getByRole("button", { name: "Try again" }).click();
  await panel.answer("It came with a key.").waitFor();
  assert.equal(provider.keys.at(-1), KEY);

  await editor.command("threadhold: Restart the Sidecar");
  await until(() => panel.prompt.isEnabled(), "it can be asked again");
  await panel.ask("And now?");
  await panel.answer("Still with a key.").waitFor();
  assert.equal(provider.keys.at(-1), KEY);

  // Another address is somebody else's.
  editor.settings(settings({ ...model, name: "elsewhere", baseUrl: other.address }));
  await panel.button("Model: elsewhere. Choose another…").waitFor();
  await panel.ask("Who are you?");
  await failed.getByRole("button", { name: "Set its key…" }).waitFor();
  assert.deepEqual([...new Set(other.keys)], [undefined], "no key goes there");

  editor.settings({ "threadhold.binary": process.env["THREADHOLD_BIN"] });
  await panel.button(/^Model: Choose a model/).waitFor();
  await editor.command("threadhold: Set a Model's Key");
  await editor.page.locator(".notification-toast").filter({ hasText: "No model that needs a key is configured" }).waitFor();
  await editor.shoot("keys-2-nothing-to-set");
});
