// What the prompt attaches and names beside files: folders, symbols, git changes, the terminal's selection, tools behind a
// #, prompts of the workspace behind a /; and the instructions that are in force.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Editor, until } from "../../support/editor.ts";
import { Panel } from "../../support/panel.ts";
import { Probe } from "../../support/probe.ts";
import { PACKAGES, SCRIPTED } from "../../support/settings.ts";

const DARK = { ...SCRIPTED, "workbench.colorTheme": "Default Dark Modern" };

test("folders, git changes, and symbols go along", async () => {
  using probe = new Probe({ window: 64_000, answers: [{ say: "I see them." }] });
  await using editor = await Editor.start({
    extensions: PACKAGES,
    shared: true,
    files: {
      "lib/parser/expressions.made": "first\ndef parseExpression\n  trim\nend\nlast\n",
      "lib/parser/names.ts": "export const names = 1;\n",
      "new.txt": "new\n",
    },
    settings: DARK,
    environment: { PROBE: probe.folder },
    before: async ({ folder }) => {
      const git = (...args: string[]) =>
        execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.org", ...args], { cwd: folder });
      git("init", "--quiet");
      git("add", "lib");
      git("commit", "--quiet", "-m", "first");
      writeFileSync(join(folder, "lib/parser/names.ts"), "export const names = 2;\n");
    },
  });
  const panel = await Panel.open(editor);
  const { keyboard } = editor.page;
  await until(() => panel.prompt.isEnabled(), "the panel can be asked");
  await panel.prompt.focus();
  const menu = panel.frame.getByRole("listbox", { name: "Mentions" });
  const option = (words: string | RegExp) => menu.getByRole("option").filter({ hasText: words });
  const choose = async (query: string, words: string | RegExp): Promise<void> => {
    await keyboard.type(`@${query}`);
    // A language that is still starting, or git, answers later than the text is typed; then it is asked again.
    await until(async () => {
      const isThere = await option(words)
        .first()
        .waitFor({ timeout: 5_000 })
        .then(
          () => true,
          () => false,
        );
      if (isThere) return true;
      await keyboard.press("Backspace");
      await keyboard.type(query.slice(-1));
      return false;
    }, `${words} is offered`);
    if (query === "parseExp") await editor.shoot("composer-1-symbol");
    await option(words).first().click();
  };
  await choose("pars", /^parser\/lib\/parser\/$/);
  await choose("change", /git changes of 2 files/);
  await choose("parseExp", /^parseExpressionfunction in lib\/parser\/expressions\.made$/);
  assert.equal(await panel.prompt.inputValue(), "@lib/parser/ @changes @parseExpression ");
  const attached = panel.frame.getByRole("list", { name: "Attachments" }).getByRole("listitem");
  await until(async () => (await attached.count()) === 3, "all three are attached");
  assert.deepEqual(await attached.allTextContents(), ["lib/parser/", "git changes", "lib/parser/expressions.made:2-4"]);
  await editor.shoot("composer-2-attached");
  await keyboard.type("look.");
  await keyboard.press("Enter");
  await panel.answer("I see them.").waitFor();
  const told = JSON.stringify(probe.asked.at(-1)?.messages);
  for (const part of [
    "expressions.made\\nnames.ts",
    "-export const names = 1;\\n+export const names = 2;",
    "New file, not known to git: new.txt",
  ])
    assert.ok(told.includes(part), `${part} in ${told}`);
  assert.ok(told.includes("def parseExpression\\n  trim\\nend"), told);
  assert.ok(!told.includes("last"), "of a symbol, its own lines");
});

test("tools are named, prompts of the workspace are sent, instructions are shown", async () => {
  using probe = new Probe({
    window: 64_000,
    answers: [
      { say: "I use it.", calls: [{ id: "p1", name: "probe_read", input: { path: "a.txt" } }] },
      { say: "Used." },
      { say: "Not there now." },
      { say: "Reviewed." },
    ],
  });
  const settings = { ...DARK, "threadhold.tools.editor": [] };
  await using editor = await Editor.start({
    extensions: PACKAGES,
    shared: true,
    files: {
      "a.txt": "hello\n",
      "AGENTS.md": "Use short words.\n",
      ".github/prompts/review.prompt.md": "---\nmode: agent\ndescription: Review the changes\n---\nRead each change twice.\n",
      ".github/prompts/undo.prompt.md": "Hidden by a command.\n",
      ".github/prompts/note.txt": "no prompt\n",
    },
    settings,
    environment: { PROBE: probe.folder },
  });
  const panel = await Panel.open(editor);
  const { keyboard } = editor.page;
  await until(() => panel.prompt.isEnabled(), "the panel can be asked");
  await panel.prompt.focus();
  await keyboard.type("Look with #probe_r");
  const tools = panel.frame.getByRole("listbox", { name: "Tools" });
  await tools.getByRole("option").filter({ hasText: "probe_read" }).waitFor();
  await editor.shoot("composer-3-tools");
  await keyboard.press("Tab");
  await until(async () => (await panel.prompt.inputValue()) === "Look with #probe_read ", "the tool is in the text");
  await keyboard.press("Enter");
  await panel.answer("Used.").waitFor();
  const [first] = probe.asked;
  assert.ok(first?.tools.includes("probe_read"), "it is offered with this request");
  assert.match(JSON.stringify(first?.messages), /The user asks you to use these tools: probe_read\./);
  assert.match(JSON.stringify(probe.asked[1]?.messages), /hello/, "and runs");
  await panel.ask("And now?");
  await panel.answer("Not there now.").waitFor();
  assert.ok(!probe.asked.at(-1)?.tools.includes("probe_read"), "the next request does not have it");

  await panel.prompt.press("/");
  const commands = panel.frame.getByRole("listbox", { name: "Commands" });
  await commands.getByRole("option").filter({ hasText: "/reviewReview the changes" }).waitFor();
  assert.equal(
    await commands
      .getByRole("option")
      .filter({ hasText: /^\/undo/ })
      .count(),
    1,
    "a command comes before a prompt",
  );
  await keyboard.type("revie");
  await editor.shoot("composer-4-prompts");
  await keyboard.press("Enter");
  await until(async () => (await panel.prompt.inputValue()) === "/review ", "more can be typed behind it");
  await keyboard.type("Only a.txt.");
  await keyboard.press("Enter");
  await panel.answer("Reviewed.").waitFor();
  const question = panel.rows.filter({ hasText: "Follow the instructions in .github/prompts/review.prompt.md." });
  assert.match((await question.textContent()) ?? "", /Only a\.txt\..*\.github\/prompts\/review\.prompt\.md/s);
  const told = JSON.stringify(probe.asked.at(-1)?.messages);
  assert.match(told, /Read each change twice\./);
  assert.doesNotMatch(told, /Review the changes/, "the front matter is for people");
  assert.match(told, /Use short words\./);

  await panel.meter.click();
  await panel.frame.locator(".breakdown").getByText("Instructions in force: AGENTS.md.").waitFor();
  await editor.shoot("composer-5-instructions");
  await panel.meter.click();
  await editor.change({ ...settings, "workbench.colorTheme": "Default Light Modern" }, panel.frame.locator("body.vscode-light").waitFor());
  await panel.prompt.press("/");
  await commands.waitFor();
  await editor.shoot("composer-6-light");
});

test("what is selected in the terminal goes along", async () => {
  using probe = new Probe({ answers: [{ say: "I read it." }] });
  await using editor = await Editor.start({ extensions: PACKAGES, shared: true, settings: DARK, environment: { PROBE: probe.folder } });
  await editor.page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  const panel = await Panel.open(editor);
  const { keyboard } = editor.page;
  await editor.command("Terminal: Create New Terminal");
  const terminal = editor.page.locator(".terminal.xterm");
  await terminal.waitFor();
  await editor.page.keyboard.type("echo from the $((1 + 1)) shells\n");
  await until(async () => /from\sthe\s2\sshells/.test((await terminal.textContent()) ?? ""), "the shell prints");
  await editor.page.evaluate(() => navigator.clipboard.writeText("copied before"));
  await editor.command("Terminal: Select All");
  await panel.prompt.focus();
  await keyboard.type("What is @term");
  const option = panel.frame
    .getByRole("listbox", { name: "Mentions" })
    .getByRole("option")
    .filter({ hasText: /^terminal/ });
  await option.waitFor();
  await editor.shoot("composer-7-terminal");
  await option.click();
  await panel.frame.getByRole("list", { name: "Attachments" }).getByText("terminal selection").waitFor();
  await panel.prompt.press("Enter");
  await panel.answer("I read it.").waitFor();
  assert.match(JSON.stringify(probe.asked.at(-1)?.messages), /from the 2 shells/);
  assert.equal(await editor.page.evaluate(() => navigator.clipboard.readText()), "copied before");
});
