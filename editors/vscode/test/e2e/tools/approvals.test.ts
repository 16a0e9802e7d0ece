// What a user allows is what they saw: the card that asks shows all of a call, to the eye and to a screen reader, and says
// what in it cannot be seen. Allowing several at once lists each of them first.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Locator } from "playwright-core";
import { Editor, until } from "../../support/editor.ts";
import { Panel } from "../../support/panel.ts";
import { Probe } from "../../support/probe.ts";
import { RulesPage } from "../../support/rules.ts";
import { PACKAGES, SCRIPTED } from "../../support/settings.ts";

const TWO_LINES = "echo tidy\necho SECOND > pwned.txt";
const LONG = `cat > long.txt <<'END'\n${Array.from({ length: 38 }, (_, at) => `line ${at + 1}`).join("\n")}\nEND`;
/** Turned around by a bidirectional override, hidden behind a return, spelled with a space that is none. */
const UNSEEN = "echo \u202Esefas\u202C; echo\u00A0a\u200B\r# \u001B[8mecho HIDDEN > hidden.txt";

/** A command that a quick pick would show in one line and partly as an icon. */
const LISTED = "echo $(trash)\necho more\r";

const run = (id: string, command: string) => ({ id, name: "run_command", input: { command } });
const EDIT = { path: "a.txt", old: "hello\nworld", new: "goodbye\nmoon" };
const READ = { path: "a.txt", purpose: "line one\nline two", deep: { of: ["x"] } };

const THEMES = { light: "Default Light Modern", dark: "Default Dark Modern" };

test("a call is shown whole before it is allowed", async () => {
  using probe = new Probe({
    window: 64_000,
    answers: [
      { say: "I tidy up.", calls: [run("c1", TWO_LINES)] },
      { say: "Tidied." },
      { say: "More.", calls: [run("c2", UNSEEN), run("c3", LONG)] },
      { say: "You did not like that." },
      {
        say: "Then both.",
        calls: [run("c4", TWO_LINES), { id: "c5", name: "edit_file", input: EDIT }, { id: "c6", name: "probe_read", input: READ }],
      },
      { say: "All three." },
      { say: "Again.", calls: [run("c7", LISTED)] },
      { say: "For good." },
    ],
  });
  const settings = { ...SCRIPTED, "threadhold.approve.editor": "ask", "threadhold.showDiff": false };
  await using editor = await Editor.start({
    extensions: PACKAGES,
    files: { "a.txt": "hello\nworld\n" },
    settings,
    environment: { PROBE: probe.folder },
  });
  const panel = await Panel.open(editor);
  const photograph = async (name: string): Promise<void> => {
    for (const [kind, theme] of Object.entries(THEMES)) {
      editor.settings({ ...settings, "workbench.colorTheme": theme });
      await until(
        async () => (await panel.frame.locator("body").getAttribute("class"))?.includes(`vscode-${kind}`) ?? false,
        `the panel is ${kind}`,
      );
      await editor.shoot(`approvals-${name}-${kind}`);
    }
  };

  await panel.ask("Tidy up.");
  const first = panel.call("run_command").last();
  await first.getByRole("button", { name: "Allow", exact: true }).waitFor();
  await photograph("1-two-lines");
  assert.deepEqual(await shown(first), [TWO_LINES]);
  assert.equal(await named(first), `Tool run_command: needs approval. command: ${TWO_LINES}`);
  for (const line of TWO_LINES.split("\n")) await seen(first, line);
  await first.getByRole("button", { name: "Reject…" }).click();
  await first.getByRole("button", { name: "Reject", exact: true }).click();
  await panel.answer("Tidied.").waitFor();
  assert.match((await named(first)) ?? "", /^Run echo tidy ⏎ echo SECOND > pwned\.txt: rejected by you/);

  await panel.ask("And more.");
  const [unseen, long] = [panel.call("run_command").nth(1), panel.call("run_command").nth(2)];
  await long.getByRole("button", { name: "Allow", exact: true }).waitFor();
  // What the command does is told later, and draws the row again.
  const scrolled = (): Promise<boolean> =>
    unseen
      .locator(".title")
      .scrollIntoViewIfNeeded()
      .then(
        () => true,
        () => false,
      );
  await until(scrolled, "it is in view");
  await photograph("2-unseen");
  const told = ["U+202E", "U+202C", "U+00A0", "U+200B U+000D", "U+001B"];
  assert.deepEqual(await unseen.locator(".unseen").allTextContents(), told);
  assert.deepEqual(await shown(unseen), ["echo U+202EsefasU+202C; echoU+00A0aU+200B U+000D# U+001B[8mecho HIDDEN > hidden.txt"]);
  assert.equal(
    await named(unseen),
    "Tool run_command: needs approval. command: echo [U+202E]sefas[U+202C]; echo[U+00A0]a[U+200B U+000D]# [U+001B][8mecho HIDDEN > hidden.txt",
  );
  await unseen.getByText("Contains invisible characters, shown as code points.").waitFor();
  assert.equal(await long.getByText("invisible characters").count(), 0);
  assert.deepEqual(await shown(long), [LONG]);
  await long.getByText("40 lines").waitFor();
  const block = await long.locator(".given pre").evaluate((pre) => {
    const { lineHeight, paddingTop, paddingBottom } = getComputedStyle(pre);
    const lines = (pixels: number) =>
      Math.round((pixels - Number.parseFloat(paddingTop) - Number.parseFloat(paddingBottom)) / Number.parseFloat(lineHeight));
    return { seen: lines(pre.clientHeight), all: lines(pre.scrollHeight), focusable: pre.tabIndex };
  });
  assert.deepEqual(block, { seen: 12, all: 40, focusable: 0 });
  for (const call of [unseen, long]) await call.getByRole("button", { name: "Reject…" }).click();
  for (const call of [unseen, long]) await call.getByRole("button", { name: "Reject", exact: true }).click();
  await panel.answer("You did not like that.").waitFor();
  assert.ok(!existsSync(join(editor.folder, "pwned.txt")));

  await panel.ask("Then do it.");
  await panel.frame.getByText("3 calls require approval").waitFor();
  const edit = panel.call("edit_file");
  await edit.getByRole("button", { name: "Show Diff" }).waitFor();
  assert.deepEqual(await shown(edit), [EDIT.path, EDIT.old, EDIT.new]);
  assert.deepEqual(await edit.locator(".given .label").allTextContents(), ["path", "old", "new"]);
  assert.deepEqual(await shown(panel.call("probe_read")), [READ.path, READ.purpose, JSON.stringify(READ.deep, null, 2)]);
  assert.deepEqual(await panel.frame.locator(".decision .reason").allTextContents(), [
    "Commands require approval (threadhold.approve.run).",
    "Edits require approval (threadhold.approve.edit).",
    "Tools of the editor and of other extensions require approval (threadhold.approve.editor).",
  ]);
  await photograph("3-several");
  await panel.button("Allow All…").click();
  const all = panel.frame.getByRole("group", { name: "Allow All" });
  assert.deepEqual(await shown(all), [
    TWO_LINES,
    EDIT.path,
    EDIT.old,
    EDIT.new,
    READ.path,
    READ.purpose,
    JSON.stringify(READ.deep, null, 2),
  ]);
  assert.deepEqual(await all.locator(".name").allTextContents(), ["run_command", "edit_file", "probe_read"]);
  await photograph("4-allow-all");
  await all.getByRole("button", { name: "Cancel" }).click();
  await all.waitFor({ state: "detached" });
  assert.ok(!existsSync(join(editor.folder, "pwned.txt")), "to look is not to allow");
  await panel.button("Allow All…").click();
  await all.getByRole("button", { name: "Allow These 3 Calls" }).click();
  await panel.answer("All three.").waitFor();
  assert.equal(editor.read("pwned.txt"), "SECOND\n");
  assert.equal(editor.read("a.txt"), "goodbye\nmoon\n");

  await panel.ask("Again.");
  await panel.decideForLater("Always Allow This Command");
  await panel.answer("For good.").waitFor();
  await editor.command("threadhold: Show Agent Terminal");
  const terminal = editor.page.locator(".terminal.xterm .xterm-rows");
  await until(async () => /echo\smore\[U\+000D\]/.test((await terminal.textContent()) ?? ""), "the terminal shows the command as it is");
  const rules = await RulesPage.open(editor);
  const allowed = rules.rules("Folder", "run_command");
  await allowed.waitFor();
  await editor.shoot("approvals-5-allowed");
  assert.equal(await allowed.locator("pre").textContent(), "echo $(trash)\necho more[U+000D]");
});

test("commands are always allowed by their beginning, until that is revoked", async () => {
  using probe = new Probe({
    window: 64_000,
    answers: [
      { calls: [run("c1", "ls a.txt 2>&1 | wc -l")] },
      { calls: [run("c2", "wc -l a.txt && ls")] },
      { say: "Looked twice." },
      { calls: [run("c3", "ls; touch made.txt")] },
      { say: "Not touched." },
      { calls: [run("c4", "ls a.txt | wc -c")] },
      { say: "Counted." },
    ],
  });
  await using editor = await Editor.start({
    extensions: PACKAGES,
    files: { "a.txt": "hello\n" },
    settings: SCRIPTED,
    environment: { PROBE: probe.folder },
  });
  const panel = await Panel.open(editor);
  await panel.ask("Look.");
  await panel.frame.getByText("Later Calls", { exact: true }).click();
  await panel.button("Always Allow Commands Beginning With `ls` or `wc`").waitFor();
  await editor.shoot("approvals-6-beginning");
  await panel.button("Always Allow Commands Beginning With `ls` or `wc`").click();
  await panel.answer("Looked twice.").waitFor();

  await panel.ask("Touch.");
  const touching = panel.call("run_command").last();
  await touching.getByText("Later Calls", { exact: true }).click();
  await touching.getByRole("button", { name: "Always Allow This Command" }).waitFor();
  assert.equal(await touching.getByRole("button", { name: /Beginning With/ }).count(), 0, "no rule covers what writes a file");
  await touching.getByRole("button", { name: "Reject…" }).click();
  await touching.getByRole("button", { name: "Reject", exact: true }).click();
  await panel.answer("Not touched.").waitFor();
  assert.ok(!existsSync(join(editor.folder, "made.txt")));

  const rules = await RulesPage.open(editor);
  const row = (beginning: string): Locator => rules.rules("Folder", `Allows commands that begin with \`${beginning}\``);
  await row("ls").waitFor();
  await row("wc").waitFor();
  await editor.shoot("approvals-7-beginnings");
  await rules.remove(row("wc"));
  await panel.ask("Count.");
  await panel.decideForLater("Always Allow Commands Beginning With `wc`");
  await panel.answer("Counted.").waitFor();
});

/** The arguments that are shown, each as it is read. */
function shown(within: Locator): Promise<string[]> {
  return within.locator(".given .value").allTextContents();
}

/** Accessible name of a row. */
function named(row: Locator): Promise<string | null> {
  return row.getAttribute("aria-label");
}

/** Fails where words are not in sight, all of them. */
async function seen(row: Locator, words: string): Promise<void> {
  const box = await row.locator(".given .value").evaluate((value, words) => {
    const range = document.createRange();
    const text = value.firstChild as Text;
    const at = text.data.indexOf(words);
    range.setStart(text, at);
    range.setEnd(text, at + words.length);
    const { left, right, top, bottom } = range.getBoundingClientRect();
    const frame = value.getBoundingClientRect();
    return left >= frame.left && right <= frame.right && top >= frame.top && bottom <= frame.bottom && right <= innerWidth;
  }, words);
  assert.ok(box, `${words} is in sight`);
}
