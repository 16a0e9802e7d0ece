// A model is set up by answering questions and choosing from its provider's list, from the panel of an editor that has none: no
// settings file is touched by hand.

import assert from "node:assert/strict";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Locator } from "playwright-core";
import { Editor, until } from "../../support/editor.ts";
import { Panel } from "../../support/panel.ts";
import { Provider } from "../../support/provider.ts";

const KEY = "the-key-of-nobody-4713";

/** Questions above the window. */
class Questions {
  readonly widget: Locator;
  readonly input: Locator;
  readonly rows: Locator;
  readonly #editor: Editor;

  constructor(editor: Editor) {
    this.#editor = editor;
    this.widget = editor.page.locator(".quick-input-widget");
    this.input = this.widget.locator("input[type=text], input[type=password]").first();
    this.rows = editor.page.locator(".quick-input-list .monaco-list-row");
  }

  /** Answers a question with these words, or with what stands there. */
  async answer(question: string, text?: string): Promise<void> {
    await this.widget.getByText(question).waitFor();
    if (text !== undefined) await this.input.fill(text);
    await this.#editor.page.keyboard.press("Enter");
  }

  /** Chooses the row with these words. */
  async choose(words: string): Promise<void> {
    await this.rows.filter({ hasText: words }).first().click();
  }

  /** Waits for a list with just these rows. */
  async list(rows: string[]): Promise<void> {
    // Only what is seen: a row keeps hidden what another list said in it. Between its parts there is some white space, or none.
    const packed = (texts: string[]): string => JSON.stringify(texts.map((text) => text.replace(/\s/gu, "")));
    const texts = async (): Promise<string> => packed(await this.rows.allInnerTexts());
    await until(async () => (await texts()) === packed(rows), `the list has ${rows.join(" | ")}`).catch(async (error: Error) => {
      throw new Error(`${error.message} It has ${await texts()}.`);
    });
  }
}

/** The model that the settings have. */
function configured(editor: Editor): unknown {
  const text = readFileSync(join(editor.root, "user", "User", "settings.json"), "utf8");
  return (JSON.parse(text) as Record<string, unknown>)["threadhold.configuredModel"];
}

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
  const questions = new Questions(editor);
  const { widget, input, rows } = questions;

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
  await questions.answer("Base URL of the API", "localhost");
  await widget.getByText("Enter an address that begins with http:// or https://").waitFor();
  await input.fill(provider.address);
  await page.keyboard.press("Enter");
  const { host } = new URL(provider.address);
  await widget.getByText(`API Key for ${host}`).waitFor();
  await until(async () => (await input.getAttribute("type")) === "password", "the key is not shown");
  await editor.shoot("set-up-2-key");
  const listed = Promise.withResolvers<void>();
  provider.listed = listed.promise;
  provider.models = [
    { id: "speech" },
    { id: "somebody", name: "Somebody Else", context_length: 64_000 },
    { id: "anybody", context_length: 32_000 },
  ];
  await input.fill(KEY);
  await page.keyboard.press("Enter");
  // A name can be entered while the list is on its way.
  await until(async () => (await input.getAttribute("placeholder")) === `Loading the models of ${host}…`, "the list is loading");
  await questions.list(["Enter Name… A model that is not listed"]);
  listed.resolve();
  await questions.list([
    "somebody Somebody Else Context window of 64,000 tokens",
    "anybody Context window of 32,000 tokens",
    "speech",
    "Enter Name… A model that is not listed",
  ]);
  await editor.shoot("set-up-3-models");
  await input.fill("else");
  await questions.list(["somebody Somebody Else Context window of 64,000 tokens", "Enter Name… A model that is not listed"]);
  await page.keyboard.press("Enter");
  await editor.toast("somebody is set up: it answered.").waitFor();
  await panel.button("Model: somebody. Choose Model…").waitFor();
  await editor.shoot("set-up-4-done");
  assert.deepEqual([await missing.count(), await panel.meter.isVisible()], [0, true], "what is said of the model holds");
  assert.match((await status.textContent()) ?? "", /Agent \d+%/);
  assert.equal(await panel.prompt.inputValue(), "Is anybody there?", "what was typed is still there");
  await panel.prompt.press("Enter");
  await panel.answer("Here I am.").waitFor();
  assert.deepEqual([...new Set(provider.keys)], [KEY], "no request went without the key");
  // The list states the window, so that it is not asked for.
  const endpoint = { wire: "openai-chat", baseUrl: provider.address };
  assert.deepEqual(configured(editor), { ...endpoint, name: "somebody", window: 64_000 });

  // A second model takes the place of the first, which is chosen again with its key. What is told stands before the buttons.
  await editor.clearToasts();
  await panel.button("Model: somebody. Choose Model…").click();
  await rows.filter({ hasText: "Set Up Model…" }).click();
  await rows.filter({ hasText: "Other Address…" }).click();
  other.models = [{ id: "noone" }];
  await questions.answer("Base URL of the API", other.address);
  await questions.answer("API Key for 127.0.0.1", KEY);
  await questions.list(["noone", "Enter Name… A model that is not listed"]);
  // What was typed is the beginning of the name.
  await input.fill("nobo");
  await questions.list(["Enter Name… A model that is not listed"]);
  await page.keyboard.press("Enter");
  await widget.getByText("Name of the model, as the provider spells it").waitFor();
  assert.equal(await input.inputValue(), "nobo");
  await questions.answer("Name of the model", "nobody");
  await questions.answer("Context window of the model, in tokens", "64000");
  await page.locator(".notification-toast").first().waitFor();
  await editor.clearToasts();
  await panel.button("Model: nobody. Choose Model…").click();
  await rows.filter({ hasText: "somebody" }).waitFor();
  await editor.shoot("set-up-5-two-models");
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

test("without a list the model is named, and a server that needs no key is set up without one", async () => {
  using provider = await Provider.start([{ say: "Here I am." }]);
  await using editor = await Editor.start({
    extensions: ["dist/threadhold.vsix"],
    settings: { "threadhold.binary": process.env["THREADHOLD_BIN"] },
  });
  const panel = await Panel.open(editor);
  const questions = new Questions(editor);
  const { widget, input } = questions;
  const { host } = new URL(provider.address);
  const begin = async (): Promise<void> => {
    await questions.choose("Other Address…");
    await questions.answer("Base URL of the API", provider.address);
    await questions.answer("Leave it empty if the server needs no key.");
  };
  await panel.button("Choose or Set Up Model…").click();
  await begin();
  const refused = "the model's key was not accepted: 401: There is no such key.";
  await widget.getByText(`The models of ${host} could not be listed: ${refused} Name of the model, as the provider spells it`).waitFor();
  await editor.shoot("set-up-6-no-list");
  await questions.answer("Name of the model", "local-coder");
  await questions.answer("Context window of the model, in tokens");
  await editor.toast("local-coder could not be asked").waitFor();
  await editor.toast(`No API key is set for ${host}. Set one.`).waitFor();
  await editor.shoot("set-up-7-needs-key");
  provider.isOpen = true;
  provider.models = [{ id: "local-coder" }];
  await editor.command("threadhold: Set Up Model…");
  await begin();
  await questions.choose("local-coder");
  await widget.getByText("Context window of the model, in tokens").waitFor();
  assert.equal(await input.inputValue(), "32768");
  await questions.answer("Context window of the model, in tokens");
  await editor.toast("local-coder is set up: it answered.").waitFor();
  // They stand before the prompt.
  await editor.clearToasts();
  await panel.ask("Is anybody there?");
  await panel.answer("Here I am.").waitFor();
  assert.deepEqual([...new Set(provider.keys)], [undefined]);
});

test("a sidecar that knows no lists has the model named", async () => {
  using provider = await Provider.start([]);
  provider.isOpen = true;
  provider.models = [{ id: "listed" }];
  await using editor = await Editor.start({
    extensions: ["dist/threadhold.vsix"],
    before: async (editor) => {
      // Stands for an older program: one that does not know the method.
      const program = join(editor.root, "older");
      const lines = [
        `#!${process.execPath}`,
        'const { spawn } = require("node:child_process");',
        `const ours = spawn(${JSON.stringify(process.env["THREADHOLD_BIN"])}, process.argv.slice(2), { stdio: ["pipe", "inherit", "inherit"] });`,
        'process.stdin.on("data", (data) => ours.stdin.write(data.toString("latin1").replaceAll("model/list", "model/none"), "latin1"));',
        'process.stdin.on("end", () => ours.stdin.end());',
        'ours.on("exit", (code) => process.exit(code ?? 1));',
      ];
      writeFileSync(program, lines.join("\n"));
      chmodSync(program, 0o755);
      editor.settings({ "threadhold.binary": program });
    },
  });
  const panel = await Panel.open(editor);
  const questions = new Questions(editor);
  await panel.button("Choose or Set Up Model…").click();
  await questions.choose("Other Address…");
  await questions.answer("Base URL of the API", provider.address);
  await questions.answer("Leave it empty if the server needs no key.");
  await questions.widget.getByText("Name of the model, as the provider spells it").waitFor();
  assert.equal(await questions.widget.getByText("could not be listed").count(), 0);
  await questions.answer("Name of the model", "local-coder");
  await questions.answer("Context window of the model, in tokens");
  await editor.toast("local-coder is set up: it answered.").waitFor();
  assert.deepEqual(configured(editor), { wire: "openai-chat", baseUrl: provider.address, name: "local-coder", window: 32_768 });
});
