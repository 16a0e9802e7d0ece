// Commands behind a slash and files behind an @, by keyboard alone: the menu, what each does, and texts that only begin so.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Editor, until } from "../../support/editor.ts";
import { Panel } from "../../support/panel.ts";
import { Probe } from "../../support/probe.ts";
import { PACKAGES, SCRIPTED } from "../../support/settings.ts";

test("commands are typed into the prompt; a text that begins with a slash is sent", async () => {
  using probe = new Probe({ answers: [{ say: "It is a file." }] });
  await using editor = await Editor.start({ extensions: PACKAGES, shared: true, settings: SCRIPTED, environment: { PROBE: probe.folder } });
  const panel = await Panel.open(editor);
  const { keyboard } = editor.page;
  const menu = panel.frame.getByRole("listbox", { name: "Commands" });
  const options = menu.getByRole("option");
  await panel.ask("/usr/bin/env is what?");
  await panel.answer("It is a file.").waitFor();

  await panel.prompt.press("/");
  await menu.waitFor();
  await editor.shoot("prompt-menu-1-commands");
  assert.ok((await options.count()) > 5);
  await keyboard.type("co");
  await until(async () => (await options.count()) === 2, "what fits is offered");
  await keyboard.press("Escape");
  await menu.waitFor({ state: "hidden" });
  assert.equal(await panel.prompt.inputValue(), "/co", "what was typed stays");
  await keyboard.type("s");
  await menu.waitFor();
  await keyboard.press("Enter");
  await panel.frame.getByText("Prompt contents").waitFor();
  assert.equal(await panel.prompt.inputValue(), "");

  // What takes more is completed first, and sent with it.
  await panel.prompt.press("/");
  await keyboard.type("pi");
  await keyboard.press("Tab");
  await until(async () => (await panel.prompt.inputValue()) === "/pin ", "the name is completed");
  await keyboard.type("Never force.");
  await keyboard.press("Enter");
  await panel.frame.locator(".breakdown").getByText("Never force.").waitFor();
  await editor.shoot("prompt-menu-2-pinned");

  await panel.prompt.fill("/compact the file");
  await panel.prompt.press("Enter");
  await panel.frame.getByText("Nothing was compacted").waitFor();

  await panel.prompt.fill("/rewind");
  await panel.prompt.press("Enter");
  await until(async () => (await panel.prompt.inputValue()) === "/usr/bin/env is what?", "the last message is in the prompt again");
  await editor.shoot("prompt-menu-3-rewound");
  assert.equal(probe.asked.length, 1, "no command was sent to the model");
});

test("a file is mentioned by a piece of its name, and goes along", async () => {
  using probe = new Probe({ answers: [{ say: "It parses." }, { say: "It is mended." }] });
  await using editor = await Editor.start({
    extensions: PACKAGES,
    shared: true,
    files: {
      "src/parser.rs": "fn parse_expr() {}\n",
      "docs/parsers.md": "Several.\n",
      "node_modules/a/parser.js": "no\n",
      "settings.json": '{"a": 1,, }',
    },
    settings: SCRIPTED,
    environment: { PROBE: probe.folder },
  });
  const panel = await Panel.open(editor);
  const { keyboard } = editor.page;
  await until(() => panel.prompt.isEnabled(), "the panel can be asked");
  await panel.prompt.focus();
  await keyboard.type("Mail me@example.org about @PARS");
  const files = panel.frame.getByRole("listbox", { name: "Mentions" });
  await until(async () => (await files.getByRole("option").count()) === 2, "the files of that name are offered, without those of others");
  await editor.shoot("prompt-menu-4-files");
  await keyboard.type("er.");
  await until(async () => (await files.getByRole("option").count()) === 1, "the other one does not fit any more");
  await keyboard.press("Enter");
  await until(async () => (await panel.prompt.inputValue()) === "Mail me@example.org about @src/parser.rs ", "its path is in the text");
  await panel.frame.getByRole("list", { name: "Attachments" }).getByText("src/parser.rs").waitFor();
  await keyboard.type("today.");
  await keyboard.press("Enter");
  await panel.answer("It parses.").waitFor();
  const told = JSON.stringify(probe.asked.at(-1));
  assert.ok(told.includes("about @src/parser.rs today.") && told.includes("fn parse_expr() {}"), told.slice(-500));

  // What is wrong with a file that is open, and what is selected in it.
  await editor.open("settings.json");
  await keyboard.press("Control+A");
  await panel.prompt.focus();
  await keyboard.type("Mend @prob");
  await until(
    async () => (await files.getByRole("option").allTextContents()).some((text) => /^problems\d+ problem/.test(text)),
    "problems",
  );
  await keyboard.press("Enter");
  await keyboard.type("in @sel");
  await until(async () => (await files.getByRole("option").first().textContent())?.includes("of settings.json") === true, "the selection");
  await editor.shoot("prompt-menu-5-selection");
  await keyboard.press("Enter");
  await keyboard.type("please");
  await keyboard.press("Enter");
  await panel.answer("It is mended.").waitFor();
  const second = JSON.stringify(probe.asked.at(-1));
  assert.match(second, /settings.json:1:\d+: error: /);
  assert.ok(second.includes("Mend @problems in @selection please") && second.includes("settings.json:1-1"), second.slice(-800));
});
