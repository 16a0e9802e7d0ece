// The page of approval rules: what holds, where it comes from and what it allows; rules are added and removed there, and hold
// for the next call. What a file of the folder says loosens nothing.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Editor, until } from "../../support/editor.ts";
import { Panel } from "../../support/panel.ts";
import { Probe } from "../../support/probe.ts";
import { RulesPage } from "../../support/rules.ts";
import { PACKAGES, SCRIPTED } from "../../support/settings.ts";

const run = (id: string, command: string) => ({ id, name: "run_command", input: { command } });
const THEMES = {
  light: "Default Light Modern",
  dark: "Default Dark Modern",
  "high-contrast": "Default High Contrast",
};

test("rules are shown with where they come from, added and removed", async () => {
  using probe = new Probe({
    window: 64_000,
    answers: [
      { calls: [run("c1", "ls a.txt")] },
      { say: "Listed." },
      { calls: [run("c2", "ls; wc -l a.txt")] },
      { say: "Counted." },
      { calls: [run("c3", "ls")] },
      { say: "Listed again." },
      { calls: [run("c4", "touch made.txt")] },
      { say: "Not touched." },
    ],
  });
  // The folder would have commands allowed.
  const folders = { "threadhold.approve.run": "allow", "threadhold.sidecarSettings": { trusted: true } };
  await using editor = await Editor.start({
    extensions: PACKAGES,
    files: { "a.txt": "hello\n", ".vscode/settings.json": JSON.stringify(folders) },
    settings: SCRIPTED,
    environment: { PROBE: probe.folder },
  });
  const { page } = editor;
  const { keyboard } = page;
  const panel = await Panel.open(editor);
  await panel.ask("List.");
  await panel.frame.getByText("Later Calls", { exact: true }).click();
  await panel.button("Manage Approval Rules").click();
  const rules = await RulesPage.on(editor);
  const select = (name: string) => rules.frame.getByRole("combobox", { name, exact: true });
  assert.equal(await select("Run commands").inputValue(), "ask", "a file of the folder does not allow commands");
  await rules.frame.getByText("No rules. A decision under Later Calls adds one.").waitFor();
  await editor.shoot("rules-1-none");

  // What is decided in the panel is there at once.
  await panel.button("Allow Commands Beginning With `ls` in This Session").click();
  await panel.answer("Listed.").waitFor();
  await rules.rules("Session", "Always allowed: run_command · Commands beginning with").waitFor();
  assert.match((await rules.rules("Session").textContent()) ?? "", /ls.*A line is allowed if all of its commands are.*This session/s);

  // A rule that would allow anything is refused in words, and what was typed stays.
  const command = rules.frame.getByRole("textbox", { name: "Command" });
  await command.fill("bash");
  await keyboard.press("Enter");
  await rules.frame.getByRole("alert").getByText("must be plain words with which commands begin").waitFor();
  await editor.shoot("rules-2-refused");
  assert.equal(await command.inputValue(), "bash");
  await command.fill("wc -l");
  await rules.frame.getByText("Allows commands that begin with `wc -l`").waitFor();
  await keyboard.press("Enter");
  await rules.rules("Folder", "wc -l").waitFor();
  await rules.frame.getByRole("status").getByText("Rule added.").waitFor();
  assert.equal(await command.inputValue(), "");
  assert.equal(await rules.frame.getByRole("alert").textContent(), "");

  // Rejected, whatever is allowed; a session has no such rule.
  await command.fill("touch");
  await select("Decision").selectOption({ label: "Always reject" });
  assert.equal(await select("Where").locator("option").filter({ hasText: "This session" }).isDisabled(), true);
  await rules.frame.getByText("Rejects every line in which a command begins with `touch`.").waitFor();
  await rules.frame.getByRole("button", { name: "Add Rule" }).click();
  await rules.rules("Folder", "Always rejected: run_command").waitFor();

  // Both rules cover the line together.
  await panel.ask("Count.");
  await panel.answer("Counted.").waitFor();
  await Panel.resize(editor, 300);
  for (const [name, theme] of Object.entries(THEMES)) {
    editor.settings({ ...SCRIPTED, "workbench.colorTheme": theme });
    const body = rules.frame.locator("body");
    await until(async () => (await body.getAttribute("class"))?.includes(`vscode-${name}`) ?? false, `the page is ${name}`);
    await editor.shoot(`rules-3-${name}`);
  }
  await Panel.resize(editor, 1200);
  await editor.shoot("rules-4-narrow");
  const { wide, view } = await rules.frame.locator("body").evaluate((body) => ({ wide: body.scrollWidth, view: body.clientWidth }));
  assert.ok(wide <= view, `${wide} pixels in ${view}`);
  await Panel.resize(editor, 300);

  // By the keyboard: the focus goes on where a rule was removed.
  const cross = rules.rules("Session").getByRole("button");
  assert.equal(
    await cross.getAttribute("aria-label"),
    "Remove Rule: Always allowed, run_command, Commands beginning with ls, This session",
  );
  await cross.focus();
  await keyboard.press("Enter");
  await rules.frame.getByText("No rules. They end when the session is closed.").waitFor();
  await until(
    () => rules.frame.getByRole("heading", { name: "In This Session" }).evaluate((heading) => heading.matches(":focus")),
    "the heading has the focus",
  );
  await panel.ask("List again.");
  await panel.button("Allow").click();
  await panel.answer("Listed again.").waitFor();

  // Allowed in the settings of the user; what is rejected stays so.
  await select("Run commands").selectOption({ label: "Allow" });
  const settings = join(editor.root, "user", "User", "settings.json");
  await until(
    () => (JSON.parse(readFileSync(settings, "utf8")) as Record<string, unknown>)["threadhold.approve.run"] === "allow",
    "it is in the user's settings",
  );
  await panel.ask("Touch.");
  await panel.answer("Not touched.").waitFor();
  assert.match((await panel.call("touch made.txt").last().textContent()) ?? "", /rejected by you/);
});
