// A model is set up by answering questions, from the panel of an editor that has none: no settings file is touched by hand.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Editor, until } from "../../support/editor.ts";
import { Panel } from "../../support/panel.ts";
import { Provider } from "../../support/provider.ts";

const KEY = "the-key-of-nobody-4713";

test("a new user sets a model up in the panel and asks it", async () => {
  using provider = await Provider.start([{ say: "Here I am." }, { say: "With great effort." }]);
  using other = await Provider.start([]);
  await using editor = await Editor.start({
    extensions: ["dist/threadhold.vsix"],
    files: { "a.txt": "hello\n" },
    settings: { "threadhold.binary": process.env["THREADHOLD_BIN"] },
  });
  const { page } = editor;
  const panel = await Panel.open(editor);
  const widget = page.locator(".quick-input-widget");
  const input = widget.locator("input[type=text], input[type=password]").first();
  const rows = page.locator(".quick-input-list .monaco-list-row");
  /** Answers the question with these words. */
  const answer = async (question: string, text: string): Promise<void> => {
    await widget.getByText(question).waitFor();
    await input.fill(text);
    await page.keyboard.press("Enter");
  };

  // Said before anything is asked, and of no model's window.
  await panel.button("Choose or Set Up Model…").waitFor();
  assert.equal(await panel.meter.isVisible(), false);
  await panel.ask("Is anybody there?");
  const missing = panel.frame.getByText("No model is selected");
  await missing.waitFor();
  const status = page.locator(".statusbar-item").filter({ hasText: "Agent" });
  assert.equal((await status.textContent())?.trim(), "Agent");
  // There is none to choose.
  await panel.button("Choose Model…").click();
  await rows.filter({ hasText: "OpenRouter" }).waitFor();
  await editor.shoot("set-up-1-providers");
  await rows.filter({ hasText: "Other Address…" }).click();
  await answer("Base URL of the API", "localhost");
  await widget.getByText("Enter an address that begins with http:// or https://").waitFor();
  await input.fill(provider.address);
  await page.keyboard.press("Enter");
  await answer("Name of the model", "somebody");
  await answer("Context window of the model, in tokens", "64000");
  await widget.getByText("API Key for somebody").waitFor();
  await until(async () => (await input.getAttribute("type")) === "password", "the key is not shown");
  await editor.shoot("set-up-2-key");
  await input.fill(KEY);
  await page.keyboard.press("Enter");
  await editor.toast("somebody is set up: it answered.").waitFor();
  await panel.button("Model: somebody. Choose Model…").waitFor();
  await editor.shoot("set-up-3-done");
  assert.deepEqual([await missing.count(), await panel.meter.isVisible()], [0, true], "what is said of the model holds");
  assert.match((await status.textContent()) ?? "", /Agent \d+%/);
  assert.equal(await panel.prompt.inputValue(), "Is anybody there?", "what was typed is still there");
  await panel.prompt.press("Enter");
  await panel.answer("Here I am.").waitFor();
  assert.deepEqual([...new Set(provider.keys)], [KEY], "no request went without the key");

  // A second model takes the place of the first, which is chosen again with its key.
  await panel.button("Model: somebody. Choose Model…").click();
  await rows.filter({ hasText: "Set Up Model…" }).click();
  await rows.filter({ hasText: "Other Address…" }).click();
  await answer("Base URL of the API", other.address);
  await answer("Name of the model", "nobody");
  await answer("Context window of the model, in tokens", "64000");
  await answer("API Key for nobody", KEY);
  await panel.button("Model: nobody. Choose Model…").click();
  await rows.filter({ hasText: "somebody" }).waitFor();
  await editor.shoot("set-up-4-two-models");
  await rows.filter({ hasText: "somebody" }).click();
  await panel.button("Model: somebody. Choose Model…").click();
  await rows.filter({ hasText: "Choose Effort…" }).click();
  await rows.filter({ hasText: "High" }).first().click();
  await until(async () => {
    await panel.button("Model: somebody. Choose Model…").click();
    const text = await rows.filter({ hasText: "Choose Effort…" }).textContent();
    await page.keyboard.press("Escape");
    return text?.includes("high") === true;
  }, "the effort is chosen");
  await panel.ask("Think about it.");
  await panel.answer("With great effort.").waitFor();
  const last = JSON.parse(provider.asked.at(-1) ?? "{}") as { reasoning_effort?: string };
  assert.equal(last.reasoning_effort, "high");
  assert.deepEqual([...new Set(provider.keys)], [KEY]);
});

test("a server that needs no key is set up without one, and a model is named as it is spelled", async () => {
  using provider = await Provider.start([{ say: "Here I am." }]);
  await using editor = await Editor.start({
    extensions: ["dist/threadhold.vsix"],
    settings: { "threadhold.binary": process.env["THREADHOLD_BIN"] },
  });
  const { page } = editor;
  const panel = await Panel.open(editor);
  const widget = page.locator(".quick-input-widget");
  const input = widget.locator("input[type=text], input[type=password]").first();
  /** Sets up the local model without a key. */
  const setUp = async (): Promise<void> => {
    await page.locator(".quick-input-list .monaco-list-row").filter({ hasText: "Other Address…" }).click();
    await widget.getByText("Base URL of the API").waitFor();
    await input.fill(provider.address);
    await page.keyboard.press("Enter");
    await widget.getByText("Name of the model").waitFor();
    await input.fill("local-coder");
    await page.keyboard.press("Enter");
    await widget.getByText("Context window of the model, in tokens").waitFor();
    await page.keyboard.press("Enter");
    await widget.getByText("Leave it empty if the server needs no key.").waitFor();
    await page.keyboard.press("Enter");
  };
  await panel.button("Choose or Set Up Model…").click();
  await setUp();
  await editor.toast("local-coder could not be asked").waitFor();
  await editor.shoot("set-up-4-needs-key");
  provider.isOpen = true;
  await editor.command("threadhold: Set Up Model…");
  await setUp();
  await editor.toast("local-coder is set up: it answered.").waitFor();
  // They stand before the prompt.
  await editor.command("Notifications: Clear All Notifications");
  await panel.ask("Is anybody there?");
  await panel.answer("Here I am.").waitFor();
  assert.deepEqual([...new Set(provider.keys)], [undefined]);
});
