// The agent's changes are listed until the user keeps or undoes them: by file, by hunk and all at once, in the panel and in
// the editor, over a reload and a rewind. What the user wrote in between is not lost.

import assert from "node:assert/strict";
import { chmodSync, existsSync, readFileSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Locator } from "playwright-core";
import { Editor, until } from "../../support/editor.ts";
import { filesWith } from "../../support/files.ts";
import { Panel } from "../../support/panel.ts";
import { Probe } from "../../support/probe.ts";
import { PACKAGES, SCRIPTED } from "../../support/settings.ts";

const SETTINGS = { ...SCRIPTED, "threadhold.approve.edit": "allow", "threadhold.approve.run": "allow", "files.autoSave": "off" };
const edit = (id: string, path: string, old: string, now: string) => ({ id, name: "edit_file", input: { path, old, new: now } });
const write = (id: string, path: string, text: string) => ({ id, name: "write_file", input: { path, text } });

/** Ten lines, such as `line 3`. */
const TEN = `${Array.from({ length: 10 }, (_, at) => `line ${at}`).join("\n")}\n`;
const TWO_HUNKS = TEN.replace("line 1\n", "first\n").replace("line 8\n", "eighth\nand more\n");

const FILES = { "src/ten.txt": TEN, "b.txt": "two\n", "gone.txt": "gone\n", "mine.txt": "by hand\n" };
/** A turn that edits two files, makes one, and deletes one. */
const TURN = [
  { calls: [edit("c1", "src/ten.txt", "line 1\n", "first\n"), edit("c2", "src/ten.txt", "line 8\n", "eighth\nand more\n")] },
  { calls: [edit("c3", "b.txt", "two", "due"), write("c4", "new.txt", "made\nby the agent\n")] },
  { calls: [{ id: "c5", name: "run_command", input: { command: "rm gone.txt" } }] },
  { say: "All is changed." },
];

async function started(answers: readonly object[], files: Record<string, string>): Promise<{ probe: Probe; editor: Editor; panel: Panel }> {
  const probe = new Probe({ answers: [...answers] });
  const editor = await Editor.start({
    extensions: PACKAGES,
    shared: true,
    files,
    settings: SETTINGS,
    environment: { PROBE: probe.folder },
  });
  const panel = await Panel.open(editor);
  await panel.ask("Change the files.");
  await panel.answer("All is changed.").waitFor();
  return { probe, editor, panel };
}

const strip = (panel: Panel): Locator => panel.frame.locator(".changed");
const files = (panel: Panel): Locator => strip(panel).locator(".item");
const says = (panel: Panel, words: string, timeout?: number): Promise<void> =>
  strip(panel)
    .getByRole("button", { name: words, exact: true })
    .waitFor(timeout === undefined ? {} : { timeout });
const lens = (editor: Editor, words: string): Locator =>
  editor.page.locator(".codelens-decoration a").filter({ hasText: words, visible: true });

/** Clicks one of so many lenses, counted from the top: the page has them in the order in which the editor drew them. */
async function clickLens(editor: Editor, words: string, of: number, at = 0): Promise<void> {
  await until(async () => (await lens(editor, words).count()) === of, `${of} changes have their lenses`);
  const lenses = await lens(editor, words).all();
  const tops = await Promise.all(lenses.map(async (one) => ({ one, top: (await one.boundingBox())?.y ?? Infinity })));
  tops.sort((one, other) => one.top - other.top);
  await tops[at]?.one.click();
}

test("a turn's changes are listed, shown together, kept and undone by file and by hunk", async () => {
  const { probe, editor, panel } = await started(TURN, FILES);
  using _ = probe;
  await using __ = editor;
  await says(panel, "4 files changed, 6 lines added, 4 lines removed");
  await editor.shoot("changes-1-strip");
  await strip(panel)
    .getByRole("button", { name: /4 files changed/ })
    .click();
  const rows = await files(panel).allTextContents();
  assert.deepEqual(rows, ["b.txt+1−1", "gone.txtdeleted+0−1", "new.txtcreated+2−0", "ten.txtsrc+3−2"]);
  await editor.shoot("changes-2-open");

  // All of them in one editor.
  await panel.button("View All Changes").click();
  await editor.page.locator(".tab.active").filter({ hasText: "Changes by Agent" }).waitFor();
  await editor.page.locator(".multiDiffEntry").nth(3).waitFor();
  assert.equal(await editor.page.locator(".multiDiffEntry").count(), 4);
  await editor.shoot("changes-3-all");

  // The diff of one.
  await files(panel)
    .getByRole("button", { name: /^src\/ten\.txt/ })
    .click();
  await editor.page.locator(".tab.active").filter({ hasText: "ten.txt (Changed by Agent)" }).waitFor();
  await editor.page.locator(".modified .view-line").filter({ hasText: "eighth" }).waitFor();
  await editor.page
    .locator(".original .view-line")
    .filter({ hasText: /^line.8/ })
    .waitFor();
  await editor.shoot("changes-4-diff");

  // Undo of one hunk leaves the other, and can be undone itself.
  await editor.command("threadhold: Go to Next Change");
  await until(async () => (await lens(editor, "Undo").count()) === 2, "each hunk has its lenses");
  await editor.shoot("changes-5-lenses");
  await clickLens(editor, "Undo", 2);
  await until(() => editor.read("src/ten.txt") === TWO_HUNKS.replace("first\n", "line 1\n"), "the first hunk is undone, and saved");
  await says(panel, "4 files changed, 5 lines added, 3 lines removed");
  await until(async () => (await files(panel).last().textContent()) === "ten.txtsrc+2−1", "it is saved, and nobody else changed it");
  await editor.page.locator(".monaco-editor .view-line").first().click();
  await editor.page.keyboard.press("Control+Z");
  await editor.page.keyboard.press("Control+S");
  await until(() => editor.read("src/ten.txt") === TWO_HUNKS, "the editor's undo brought it back");
  await says(panel, "4 files changed, 6 lines added, 4 lines removed");

  // Keeping one leaves the other, whose undo leaves what was kept.
  await until(async () => (await lens(editor, "Undo").count()) === 2, "both hunks have their lenses again");
  // The editor draws lenses anew after each change of the text, and a click in between meets one that is gone: a person
  // clicks again, once nothing comes of it.
  await until(async () => {
    await clickLens(editor, "Keep", 2);
    return says(panel, "4 files changed, 5 lines added, 3 lines removed", 15_000).then(
      () => true,
      () => false,
    );
  }, "the first hunk is kept");
  await until(async () => (await lens(editor, "Undo").count()) === 1, "one hunk is left");
  assert.equal(editor.read("src/ten.txt"), TWO_HUNKS);
  await clickLens(editor, "Undo", 1);
  await until(() => editor.read("src/ten.txt") === TEN.replace("line 1\n", "first\n"), "the second hunk is undone");
  await says(panel, "3 files changed, 3 lines added, 2 lines removed");
  await until(async () => (await lens(editor, "Undo").count()) === 0, "no hunk is left");
  // What the user writes from now on is theirs.
  editor.write("src/ten.txt", "by hand\n");

  // By file: what the agent made is deleted, what it deleted comes back.
  await strip(panel).getByRole("button", { name: "Undo new.txt" }).click();
  await until(() => !existsSync(join(editor.folder, "new.txt")), "the new file is gone");
  await strip(panel).getByRole("button", { name: "Undo gone.txt" }).click();
  await until(() => existsSync(join(editor.folder, "gone.txt")), "the deleted file is back");
  assert.equal(editor.read("gone.txt"), "gone\n");
  await says(panel, "1 file changed, 1 line added, 1 line removed");
  // Taken back, it is listed again.
  await panel.button("Undo Restore").click();
  await says(panel, "2 files changed, 1 line added, 2 lines removed");
  assert.equal(existsSync(join(editor.folder, "gone.txt")), false);
  await panel.button("Keep All").click();
  await strip(panel).waitFor({ state: "hidden" });
  assert.deepEqual([editor.read("b.txt"), editor.read("src/ten.txt")], ["due\n", "by hand\n"]);
  await editor.shoot("changes-6-kept");
});

test("what the user wrote in between is undone only after a question", async () => {
  const { probe, editor, panel } = await started(TURN, FILES);
  using _ = probe;
  await using __ = editor;
  await says(panel, "4 files changed, 6 lines added, 4 lines removed");
  // In a line of its own, on disk; in a line of the agent's; and not saved.
  editor.write("src/ten.txt", `${TWO_HUNKS}mine\n`);
  await says(panel, "4 files changed, 7 lines added, 4 lines removed");
  await strip(panel)
    .getByRole("button", { name: /4 files changed/ })
    .click();
  await files(panel).filter({ hasText: "Also changed outside the agent since then" }).waitFor();
  await editor.shoot("changes-7-others");
  const dialog = editor.page.locator(".monaco-dialog-box");
  await panel.button("Undo All").click();
  await dialog.filter({ hasText: "Undo the changes in 4 files?" }).filter({ hasText: "src/ten.txt: Changed since then" }).waitFor();
  await editor.shoot("changes-8-question");
  await dialog.getByRole("button", { name: "Cancel" }).click();
  assert.deepEqual([editor.read("src/ten.txt"), editor.read("b.txt")], [`${TWO_HUNKS}mine\n`, "due\n"]);
  await panel.button("Undo All").click();
  await dialog.getByRole("button", { name: "Undo Only the Other 3 Files" }).click();
  await says(panel, "1 file changed, 4 lines added, 2 lines removed");
  assert.deepEqual([editor.read("src/ten.txt"), editor.read("b.txt")], [`${TWO_HUNKS}mine\n`, "two\n"]);
  assert.deepEqual([existsSync(join(editor.folder, "new.txt")), editor.read("gone.txt")], [false, "gone\n"]);

  // A hunk of the agent's is undone without a question, one with the user's words is not.
  await editor.open("ten.txt");
  await until(async () => (await lens(editor, "Undo").count()) === 3, "there are three hunks");
  await clickLens(editor, "Undo", 3);
  await until(() => editor.read("src/ten.txt") === `${TWO_HUNKS.replace("first\n", "line 1\n")}mine\n`, "the agent's hunk is undone");
  await until(async () => (await lens(editor, "Undo").count()) === 2, "two are left");
  await clickLens(editor, "Undo", 2, 1);
  await dialog.filter({ hasText: "Undo this change?" }).waitFor();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  assert.equal(editor.read("src/ten.txt"), `${TWO_HUNKS.replace("first\n", "line 1\n")}mine\n`);

  // What is not saved counts too.
  await editor.page.locator(".monaco-editor .view-line").first().click();
  await editor.page.keyboard.press("Control+Home");
  await editor.page.keyboard.type("typed ");
  await files(panel).filter({ hasText: "Has unsaved changes" }).waitFor();
  await strip(panel).getByRole("button", { name: "Undo src/ten.txt" }).click();
  await dialog.filter({ hasText: "Undo the changes in src/ten.txt?" }).getByRole("button", { name: "Undo", exact: true }).click();
  await until(() => editor.read("src/ten.txt") === TEN, "it is as before the agent");
  await strip(panel).waitFor({ state: "hidden" });
  await panel.button("Undo Restore").click();
  await editor.page
    .locator(".monaco-editor .view-line")
    .filter({ hasText: /^typed.line.0/ })
    .waitFor();
  assert.equal(editor.read("src/ten.txt"), `${TWO_HUNKS.replace("first\n", "line 1\n")}mine\n`);
  await says(panel, "1 file changed, 4 lines added, 2 lines removed");
  // The agent's changes are not taken for kept where the user goes on with the file.
  await editor.page.locator(".monaco-editor .view-line").first().click();
  await editor.page.keyboard.press("Control+Home");
  await editor.page.keyboard.type("on top\n");
  await says(panel, "1 file changed, 5 lines added, 2 lines removed");
});

test("a file keeps its encoding and its ends of lines, and one that is no text is kept or undone whole", async () => {
  const line = (at: number): string => `caf\xe9 ${at}\r\n`;
  const latin = Buffer.from([0, 1, 2, 3, 4].map(line).join(""), "latin1");
  const binary = Buffer.from([0, 1, 2, 255]);
  const command = "printf 'more' >> data.bin";
  using probe = new Probe({
    answers: [
      {
        calls: [
          edit("c1", "latin.txt", "caf\xe9 1", "th\xe9 1"),
          edit("c2", "latin.txt", "caf\xe9 3", "th\xe9 3"),
          edit("c3", "locked.txt", "one", "uno"),
          edit("c0", "lost.txt", "words", "parole"),
        ],
      },
      { calls: [{ id: "c4", name: "run_command", input: { command } }] },
      { say: "All is changed." },
    ],
  });
  await using editor = await Editor.start({
    extensions: PACKAGES,
    files: { "locked.txt": "one\n", "lost.txt": "many words\n", ".vscode/settings.json": JSON.stringify({ "files.encoding": "iso88591" }) },
    settings: SETTINGS,
    environment: { PROBE: probe.folder },
    before: async ({ folder }) => {
      writeFileSync(join(folder, "latin.txt"), latin);
      writeFileSync(join(folder, "data.bin"), binary);
    },
  });
  const bytes = (path: string): Buffer => readFileSync(join(editor.folder, path));
  const panel = await Panel.open(editor);
  await panel.ask("Change the files.");
  await panel.answer("All is changed.").waitFor();
  await says(panel, "4 files changed, 4 lines added, 4 lines removed");
  chmodSync(join(editor.folder, "locked.txt"), 0o444);
  // The oldest contents are no longer kept once there are too many.
  for (const path of filesWith("many words\n", editor.root)) if (path.includes("before-images")) unlinkSync(path);
  await strip(panel)
    .getByRole("button", { name: /4 files changed/ })
    .click();
  await files(panel).getByRole("button", { name: "data.bin, not a text file. Show diff" }).waitFor();
  await editor.open("latin.txt");
  await clickLens(editor, "Keep", 2);
  await until(async () => (await lens(editor, "Undo").count()) === 1, "one hunk is left");
  await lens(editor, "Undo").click();
  const half = Buffer.from([0, 1, 2, 3, 4].map(line).join("").replace("caf\xe9 1", "th\xe9 1"), "latin1");
  await until(() => bytes("latin.txt").equals(half), "it has the kept line, and its other bytes");
  await until(async () => (await lens(editor, "Undo").count()) === 0, "no hunk is left");
  // What cannot be undone says why, and stands in the way of nothing else.
  await panel.button("Undo All").click();
  const told = panel.frame.locator(".notices .notice").filter({ hasText: "Restored 1 file. Could not restore 2 files." });
  await told.filter({ hasText: "locked.txt: not restored because it is read-only" }).waitFor();
  await told.filter({ hasText: "lost.txt: not restored because its earlier contents are no longer kept" }).waitFor();
  assert.equal(editor.read("lost.txt"), "many parole\n");
  assert.deepEqual(bytes("data.bin"), binary);
  assert.ok(await strip(panel).getByRole("button", { name: "Undo locked.txt" }).isDisabled());
  await editor.shoot("changes-13-locked");
});

test("the list survives a reload and a restart, and a rewind clears what it restored", async () => {
  const later = [{ calls: [edit("d1", "b.txt", "due", "zwei"), edit("d2", "mine.txt", "hand", "agent")] }, { say: "Changed again." }];
  const { probe, editor, panel: first } = await started([...TURN, ...later], FILES);
  using _ = probe;
  await using __ = editor;
  await first.ask("Change more.");
  await first.answer("Changed again.").waitFor();
  await says(first, "5 files changed, 7 lines added, 5 lines removed");
  await strip(first)
    .getByRole("button", { name: /5 files changed/ })
    .click();
  // One hunk is kept, and one file.
  await editor.open("ten.txt");
  await clickLens(editor, "Keep", 2);
  await says(first, "5 files changed, 6 lines added, 4 lines removed");
  await strip(first).getByRole("button", { name: "Keep gone.txt" }).click();
  await says(first, "4 files changed, 6 lines added, 3 lines removed");
  await editor.reload();
  let panel = await Panel.open(editor);
  await says(panel, "4 files changed, 6 lines added, 3 lines removed");
  await editor.down();
  await editor.up();
  panel = await Panel.open(editor);
  await says(panel, "4 files changed, 6 lines added, 3 lines removed");
  await editor.shoot("changes-9-restarted");
  await strip(panel)
    .getByRole("button", { name: /4 files changed/ })
    .click();
  await strip(panel).getByRole("button", { name: "Undo src/ten.txt" }).click();
  await until(() => editor.read("src/ten.txt") === TEN.replace("line 1\n", "first\n"), "what was kept stays");
  await says(panel, "3 files changed, 4 lines added, 2 lines removed");

  // An edit that has ended shows what it changed, also where the file was changed again since then.
  await panel.call("b.txt").first().getByRole("button", { name: "Show Diff" }).click();
  await editor.page.locator(".tab.active").filter({ hasText: "b.txt (Edited by Agent)" }).waitFor();
  await editor.page.locator(".original .view-line").filter({ hasText: "two" }).waitFor();
  await editor.page.locator(".modified .view-line").filter({ hasText: "due" }).waitFor();
  await editor.shoot("changes-10-ended-edit");

  const row = panel.frame.locator(".row.user").filter({ hasText: "Change more." });
  await row.hover();
  await row.getByRole("button", { name: "Rewind to Here…" }).click();
  await panel.frame.getByRole("button", { name: "Restore 2 Files and Rewind" }).click();
  await panel.frame.locator(".notices .notice").filter({ hasText: "Restored 2 files." }).waitFor();
  await says(panel, "2 files changed, 3 lines added, 1 line removed");
  assert.deepEqual([editor.read("b.txt"), editor.read("mine.txt")], ["due\n", "by hand\n"]);
  // What the user writes into a restored file is theirs.
  editor.write("mine.txt", "by hand, later\n");
  unlinkSync(join(editor.folder, "new.txt"));
  await says(panel, "1 file changed, 1 line added, 1 line removed");
});

test("in a diff each change is kept or undone where it stands", async () => {
  const { probe, editor, panel } = await started(TURN, FILES);
  using _ = probe;
  await using __ = editor;
  await says(panel, "4 files changed, 6 lines added, 4 lines removed");
  await strip(panel)
    .getByRole("button", { name: /4 files changed/ })
    .click();
  await files(panel)
    .getByRole("button", { name: /^src\/ten\.txt/ })
    .click();
  await editor.page.locator(".tab.active").filter({ hasText: "ten.txt (Changed by Agent)" }).waitFor();
  // The first one is at the cursor.
  const actions = editor.page.locator(".editor-actions");
  await actions.getByRole("button", { name: /^Keep Change at Cursor/ }).click();
  await says(panel, "4 files changed, 5 lines added, 3 lines removed");
  // The others by a hover over them, on either side.
  const offered = editor.page.locator(".monaco-hover:not(.hidden)");
  await editor.page
    .locator(".editor.original .view-line")
    .filter({ hasText: /^line.8/ })
    .hover({ position: { x: 12, y: 8 } });
  await offered.getByRole("link", { name: "Undo" }).waitFor();
  await editor.shoot("changes-14-hover");
  await offered.getByRole("link", { name: "Undo" }).click();
  await until(() => editor.read("src/ten.txt") === TEN.replace("line 1\n", "first\n"), "the second one is undone");
  await says(panel, "3 files changed, 3 lines added, 2 lines removed");

  await editor.command("threadhold: View All Changes");
  await editor.page
    .locator(".multiDiffEntry .editor.modified .view-line")
    .filter({ hasText: "due" })
    .hover({ position: { x: 12, y: 8 } });
  await offered.getByRole("link", { name: "Keep" }).click();
  await says(panel, "2 files changed, 2 lines added, 1 line removed");
  assert.equal(editor.read("b.txt"), "due\n");
});

test("the keyboard reaches each change, and narrow panels in three themes show the list", async () => {
  const { probe, editor, panel } = await started(TURN, FILES);
  using _ = probe;
  await using __ = editor;
  await says(panel, "4 files changed, 6 lines added, 4 lines removed");
  const { keyboard } = editor.page;
  await editor.command("threadhold: Go to Next Change");
  await editor.page.locator(".tab.active").filter({ hasText: "b.txt" }).waitFor();
  await keyboard.press("Control+K");
  await keyboard.press("Alt+Z");
  await until(() => editor.read("b.txt") === "two\n", "the change at the cursor is undone");
  await editor.command("threadhold: Go to Next Change");
  await editor.page.locator(".tab.active").filter({ hasText: "new.txt" }).waitFor();
  await editor.command("threadhold: Keep Change at Cursor");
  await says(panel, "2 files changed, 3 lines added, 3 lines removed");

  // In diffs, on either side and with all files in one editor.
  await editor.command("threadhold: View All Changes");
  const shown = editor.page.locator(".multiDiffEntry");
  await shown.nth(1).locator(".editor.modified .view-line").filter({ hasText: "first" }).click();
  await keyboard.press("Control+K");
  await keyboard.press("Alt+Y");
  await says(panel, "2 files changed, 2 lines added, 2 lines removed");
  // The baseline beside it goes along.
  await shown.nth(1).locator(".editor.original .view-line").filter({ hasText: "first" }).waitFor();
  await shown
    .nth(1)
    .locator(".editor.original .view-line")
    .filter({ hasText: /^line.8/ })
    .click();
  await keyboard.press("Control+K");
  await keyboard.press("Alt+Z");
  await says(panel, "1 file changed, 0 lines added, 1 line removed");
  assert.equal(editor.read("src/ten.txt"), TEN.replace("line 1\n", "first\n"));
  await editor.shoot("changes-11-diffs");
  await shown.nth(1).locator(".editor.modified .view-line").first().click();
  await keyboard.press("Control+Z");
  await keyboard.press("Control+S");
  await says(panel, "2 files changed, 2 lines added, 2 lines removed");

  // In the list: the focus goes on to the next row.
  const toggle = strip(panel).getByRole("button", { name: /2 files changed/ });
  await toggle.focus();
  await keyboard.press("Enter");
  await strip(panel).getByRole("button", { name: "Keep gone.txt" }).focus();
  await keyboard.press("Enter");
  await says(panel, "1 file changed, 2 lines added, 1 line removed");
  const focused = panel.frame.locator(":focus");
  await until(async () => (await focused.getAttribute("data-key")) === "src/ten.txt/show", "the next file has the focus");

  await Panel.resize(editor, 220);
  for (const [name, theme] of Object.entries({
    light: "Default Light Modern",
    dark: "Default Dark Modern",
    "high-contrast": "Default High Contrast",
  })) {
    editor.settings({ ...SETTINGS, "workbench.colorTheme": theme });
    const isShown = async (): Promise<boolean> =>
      (await panel.frame.locator("body").getAttribute("class"))?.includes(`vscode-${name}`) ?? false;
    await until(isShown, `the panel is ${name}`);
    await editor.shoot(`changes-12-${name}`);
    const { wide, view } = await panel.frame.locator("body").evaluate((body) => ({ wide: body.scrollWidth, view: body.clientWidth }));
    assert.ok(wide <= view, `${wide} pixels in ${view}`);
  }
});
