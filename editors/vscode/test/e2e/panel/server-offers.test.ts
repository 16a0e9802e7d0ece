// The sidecar's own tool servers in the composer: prompts behind a slash with their arguments, resources behind an @, tools
// behind a #.

import assert from "node:assert/strict";
import { resolve } from "node:path";
import { test } from "node:test";
import { Editor, until } from "../../support/editor.ts";
import { Panel } from "../../support/panel.ts";
import { Probe } from "../../support/probe.ts";
import { PACKAGES, SCRIPTED } from "../../support/settings.ts";

const SERVER = { command: "python3", args: [resolve("../../tests/it/chat/server.py")] };

test("prompts, resources and tools of a tool server are offered while they are typed", async () => {
  using probe = new Probe({ answers: [{ say: "Hello." }, { say: "Hi." }, { say: "Soup it is." }, { say: "Booked." }] });
  await using editor = await Editor.start({
    extensions: PACKAGES,
    shared: true,
    settings: { ...SCRIPTED, "threadhold.sidecarSettings": { mcp: { servers: { table: SERVER } } } },
    environment: { PROBE: probe.folder },
  });
  const { page } = editor;
  const { keyboard } = page;
  const panel = await Panel.open(editor);
  await until(() => panel.prompt.isEnabled(), "the panel can be asked");
  const menu = (name: string) => panel.frame.getByRole("listbox", { name }).getByRole("option");
  const value = (expected: string) => until(async () => (await panel.prompt.inputValue()) === expected, `the prompt is ${expected}`);
  const asked = (): string => JSON.stringify(probe.asked.at(-1)?.messages);

  await panel.prompt.press("/");
  await keyboard.type("gre");
  await menu("Commands").filter({ hasText: "/table:greet" }).filter({ hasText: "whom" }).waitFor();
  await editor.shoot("server-offers-1-prompt");
  await keyboard.press("Enter");
  await value("/table:greet ");
  await keyboard.press("Enter");
  const box = page.locator(".quick-input-widget input");
  await page.locator(".quick-input-widget").filter({ hasText: "table: greet" }).waitFor();
  await box.fill("Ada");
  await editor.shoot("server-offers-2-argument");
  await box.press("Enter");
  await panel.answer("Hello.").waitFor();
  await panel.frame.locator(".row.user").first().getByText("Greet Ada.").waitFor();
  assert.match(asked(), /Greet Ada\./);

  // Given with its name; left without it, nothing is sent.
  await panel.ask("/table:greet Eve");
  await panel.answer("Hi.").waitFor();
  assert.match(asked(), /Greet Eve\./);
  await panel.ask("/table:greet ");
  await page.locator(".quick-input-widget").filter({ hasText: "table: greet" }).waitFor();
  await box.press("Escape");
  await value("/table:greet");
  await panel.prompt.fill("");

  await panel.prompt.focus();
  await keyboard.type("What is on @men");
  await menu("Mentions").filter({ hasText: "resource of table" }).waitFor();
  await editor.shoot("server-offers-3-resource");
  await keyboard.press("Enter");
  await value("What is on @table:table://menu ");
  await panel.frame.getByRole("list", { name: "Attachments" }).getByText("table:table://menu").waitFor();
  await keyboard.type("today?");
  await keyboard.press("Enter");
  await panel.answer("Soup it is.").waitFor();
  assert.match(asked(), /What is on @table:table:\/\/menu today\?.*Soup\./);
  await panel.frame.locator(".row.user").last().getByText("table://menu", { exact: true }).waitFor();

  await keyboard.type("Use #book");
  await menu("Tools")
    .filter({ hasText: /^table__book\d+ tokens/ })
    .waitFor();
  await editor.shoot("server-offers-4-tool");
  await keyboard.press("Enter");
  await value("Use #table__book ");
  await keyboard.type("now.");
  await keyboard.press("Enter");
  await panel.answer("Booked.").waitFor();
  assert.match(asked(), /The user asks you to use these tools: table__book\./);
  assert.equal(probe.asked.length, 4, "what was left was not sent");
});
