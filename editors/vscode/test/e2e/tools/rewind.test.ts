// The chat goes back and the files with it: those that the agent's edit tools changed are restored, also after a restart
// of the editor; what somebody else changed is not overwritten without a word, what nobody can restore is named.

import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Editor, until } from "../../support/editor.ts";
import { Panel } from "../../support/panel.ts";
import { Probe } from "../../support/probe.ts";
import { PACKAGES, SCRIPTED } from "../../support/settings.ts";

// An editor in a browser saves by itself after a second, and a test has changes that are not saved.
const ALLOWED = { ...SCRIPTED, "threadhold.approve.edit": "allow", "threadhold.approve.run": "allow", "files.autoSave": "off" };
// What a command changed is known only from its text and from the times of files.
const SETTINGS = { ...ALLOWED, "threadhold.rewind.commands": false };
const edit = (id: string, path: string, old: string, now: string) => ({ id, name: "edit_file", input: { path, old, new: now } });

/** An editor on a folder with one file, whose model is the probe's. */
function oneFile(probe: Probe): Promise<Editor> {
  const files = { "a.txt": "one\n" };
  return Editor.start({ extensions: PACKAGES, shared: true, files, settings: SETTINGS, environment: { PROBE: probe.folder } });
}

test("a rewind restores what the agent changed and names the rest, and can be taken back", async () => {
  using probe = new Probe({
    answers: [
      { say: "I am here." },
      { say: "I change a few.", calls: [edit("c1", "a.txt", "one", "uno"), edit("c2", "b.txt", "two", "due")] },
      { calls: [{ id: "c3", name: "write_file", input: { path: "new.txt", text: "made\n" } }, edit("c4", "a.txt", "uno", "eins")] },
      { calls: [{ id: "c5", name: "run_command", input: { command: "echo printed > out.txt; rm c.txt" } }] },
      { say: "All is changed." },
    ],
  });
  await using editor = await Editor.start({
    extensions: PACKAGES,
    shared: true,
    files: { "a.txt": "one\n", "b.txt": "two\n", "c.txt": "three\n", "d.txt": "never touched\n" },
    settings: SETTINGS,
    environment: { PROBE: probe.folder },
  });
  let panel = await Panel.open(editor);
  await panel.ask("Are you there?");
  await panel.answer("I am here.").waitFor();
  await panel.ask("Change the files.");
  await panel.answer("All is changed.").waitFor();
  assert.equal(editor.read("a.txt"), "eins\n");
  await editor.down();
  // Somebody else goes on with one of them while the editor is away.
  editor.write("b.txt", "due\nand a line by hand\n");
  chmodSync(join(editor.folder, "b.txt"), 0o755);
  await editor.up();
  panel = await Panel.open(editor);
  const card = panel.frame.locator(".row.rewind");
  await rewind(panel, "Change the files.");
  await card.waitFor();
  await editor.shoot("rewind-1-asked");
  const box = (path: string) => card.getByRole("checkbox", { name: `Restore ${path}` });
  assert.deepEqual([await box("a.txt").isChecked(), await box("new.txt").isChecked(), await box("b.txt").isChecked()], [true, true, false]);
  const said = (await card.textContent()) ?? "";
  assert.match(said, /new\.txt.*created by the agent; will be deleted/);
  assert.match(said, /b\.txt.*Changed since then outside the agent. Those changes would be lost/);
  assert.match(
    said,
    /Cannot be restored:c\.txt.*missing; run_command was called to delete.*out\.txt.*changed by run_command.*run_command: echo printed/,
  );
  assert.doesNotMatch(said, /d\.txt/);

  // What restoring would change is shown, and nothing is done by looking.
  await card.getByRole("button", { name: "Show changes in a.txt" }).click();
  await editor.page.locator(".tab.active").filter({ hasText: "Current ↔ Restored" }).waitFor();
  await editor.page.locator(".modified .view-line").filter({ hasText: "one" }).waitFor();
  await editor.shoot("rewind-2-diff");
  await card.getByRole("button", { name: "Cancel" }).click();
  await card.waitFor({ state: "detached" });
  assert.equal(await panel.frame.locator(".row.user").count(), 2);
  assert.equal(editor.read("a.txt"), "eins\n");

  await rewind(panel, "Change the files.");
  await card.getByRole("button", { name: "Restore 2 Files and Rewind" }).click();
  const told = panel.frame.locator(".notices .notice").filter({ hasText: "Restored 2 files." });
  await told.waitFor();
  await editor.shoot("rewind-3-rewound");
  assert.equal(editor.read("a.txt"), "one\n");
  assert.equal(existsSync(join(editor.folder, "new.txt")), false);
  assert.equal(editor.read("b.txt"), "due\nand a line by hand\n", "what somebody else wrote stays");
  assert.equal(editor.read("out.txt"), "printed\n");
  assert.equal(await panel.frame.locator(".row.user").count(), 1);
  await until(async () => (await panel.prompt.inputValue()) === "Change the files.", "the words are in the prompt again");

  // Taken back.
  await told.getByRole("button", { name: "Undo Restore" }).click();
  await panel.frame.getByText("restore was undone").waitFor();
  assert.deepEqual([editor.read("a.txt"), editor.read("new.txt")], ["eins\n", "made\n"]);

  // The conversation as it stood is restored, and can be rewound too; this time over what somebody wrote.
  await panel.restoreVersion(editor, "Change the files.");
  await panel.answer("All is changed.").waitFor();
  unlinkSync(join(editor.folder, "a.txt"));
  await rewind(panel, "Change the files.");
  await card.getByText("deleted since then; will be recreated").waitFor();
  await box("b.txt").click();
  await editor.shoot("rewind-4-all");
  // What changes between the question and the answer is not overwritten either.
  editor.write("new.txt", "mine now\n");
  await card.getByRole("button", { name: "Restore 3 Files and Rewind" }).click();
  await panel.frame.getByText("new.txt changed in the meantime, so nothing was done.").waitFor();
  assert.deepEqual([editor.read("b.txt"), editor.read("new.txt")], ["due\nand a line by hand\n", "mine now\n"]);
  await until(async () => !(await box("new.txt").isChecked()), "it is not chosen any more");
  await box("new.txt").click();
  await box("b.txt").click();
  await card.getByRole("button", { name: "Restore 3 Files and Rewind" }).click();
  await panel.frame.getByText("Restored 3 files.").waitFor();
  assert.deepEqual([editor.read("a.txt"), editor.read("b.txt")], ["one\n", "two\n"]);
  assert.equal(existsSync(join(editor.folder, "new.txt")), false);
  assert.ok((statSync(join(editor.folder, "b.txt")).mode & 0o111) !== 0, "it may still be run");
});

test("a rewind restores all files that a command changed, and not what the user wrote after it", async () => {
  const names = Array.from({ length: 40 }, (_, at) => `src/file-${at}.txt`);
  const command = "sed -i s/old/new/ src/*.txt && rm gone.txt && echo made > made.txt && echo log > out.log";
  using probe = new Probe({ answers: [{ calls: [{ id: "c1", name: "run_command", input: { command } }] }, { say: "All is renamed." }] });
  await using editor = await Editor.start({
    extensions: PACKAGES,
    shared: true,
    files: {
      ...Object.fromEntries(names.map((name) => [name, `old words of ${name}\n`])),
      "gone.txt": "still here\n",
      "mine.txt": "by hand\n",
      ".gitignore": "*.log\n",
    },
    settings: ALLOWED,
    environment: { PROBE: probe.folder },
  });
  let panel = await Panel.open(editor);
  await panel.ask("Rename it.");
  await panel.answer("All is renamed.").waitFor();
  for (const name of names) assert.equal(editor.read(name), `new words of ${name}\n`);
  // The contents are kept over a restart.
  await editor.down();
  editor.write("mine.txt", "by hand, later\n");
  editor.write("src/file-0.txt", "rewritten by hand\n");
  await editor.up();
  panel = await Panel.open(editor);
  await rewind(panel, "Rename it.");
  const card = panel.frame.locator(".row.rewind");
  await card.waitFor();
  await editor.shoot("rewind-command-1-asked");
  const said = (await card.textContent()) ?? "";
  assert.match(said, /src\/file-0\.txt.*Changed since then outside the agent/);
  assert.match(said, /out\.log.*changed by run_command, which keeps no earlier contents/);
  assert.doesNotMatch(said, /mine\.txt/);
  assert.equal(await card.getByRole("checkbox", { checked: false }).count(), 1);
  await card.getByRole("button", { name: "Restore 41 Files and Rewind" }).click();
  await panel.frame.locator(".notices .notice").filter({ hasText: "Restored 41 files." }).waitFor();
  await editor.shoot("rewind-command-2-restored");
  for (const name of names.slice(1)) assert.equal(editor.read(name), `old words of ${name}\n`);
  assert.equal(editor.read("src/file-0.txt"), "rewritten by hand\n");
  assert.equal(editor.read("gone.txt"), "still here\n");
  assert.equal(existsSync(join(editor.folder, "made.txt")), false);
  assert.equal(editor.read("mine.txt"), "by hand, later\n");
  assert.equal(existsSync(join(editor.folder, ".git")), false, "no repository is made in the folder");

  await panel.button("Undo Restore").click();
  await panel.frame.locator(".notices .notice").filter({ hasText: "The restore was undone." }).waitFor();
  for (const name of names.slice(1)) assert.equal(editor.read(name), `new words of ${name}\n`);
  assert.equal(existsSync(join(editor.folder, "gone.txt")), false);
  assert.equal(editor.read("made.txt"), "made\n");
});

test("an edit and a retry ask about the files too; where none changed they do not", async () => {
  using probe = new Probe({
    answers: [
      { calls: [edit("c1", "a.txt", "one", "uno")] },
      { say: "It says uno." },
      { say: "It stays as it is." },
      { say: "Nothing changed, so nothing was asked." },
    ],
  });
  await using editor = await oneFile(probe);
  const panel = await Panel.open(editor);
  await panel.ask("Say it in Italian.");
  await panel.answer("It says uno.").waitFor();
  const first = panel.frame.locator(".row.user").first();
  await first.hover();
  await panel.write(first.getByRole("button", { name: "Edit and Ask Again" }), "Say it in English.");
  const form = panel.frame.locator(".form textarea");
  await form.press("Control+Enter");
  const card = panel.frame.locator(".row.rewind");
  await card.getByText("Ask again from here?").waitFor();
  assert.equal(probe.asked.length, 2, "nothing is asked before the user decides");
  // Left, the edited words are still there.
  await card.getByRole("button", { name: "Cancel" }).click();
  await form.waitFor();
  assert.equal(await form.inputValue(), "Say it in English.");
  await form.press("Control+Enter");
  await card.getByRole("button", { name: "Restore 1 File and Ask Again" }).click();
  await panel.answer("It stays as it is.").waitFor();
  assert.equal(editor.read("a.txt"), "one\n");
  assert.equal(await panel.frame.locator(".row.user").first().locator(".words").textContent(), "Say it in English.");
  await editor.shoot("rewind-5-asked-again");

  await panel.answer("It stays as it is.").hover();
  await panel.answer("It stays as it is.").getByRole("button", { name: "Answer Again" }).click();
  await panel.answer("Nothing changed, so nothing was asked.").waitFor();
});

test("a rewind is undone behind the conversation, with its files, until something else is asked", async () => {
  using probe = new Probe({
    answers: [
      { say: "I am here." },
      { calls: [edit("c1", "a.txt", "one", "uno")] },
      { say: "It is changed." },
      { say: "Something else it is." },
      { say: "I am here, again." },
      { say: "Here once more." },
    ],
  });
  await using editor = await oneFile(probe);
  const panel = await Panel.open(editor);
  await panel.ask("Are you there?");
  await panel.answer("I am here.").waitFor();
  await panel.ask("Change it.");
  await panel.answer("It is changed.").waitFor();
  const card = panel.frame.locator(".row.rewind");
  const notice = panel.feed.locator(".notice");
  await rewind(panel, "Change it.");
  await card.getByRole("button", { name: "Restore 1 File and Rewind" }).click();
  await notice.getByText("Rewound the conversation.").waitFor();
  await editor.shoot("rewind-6-way-back");
  assert.equal(editor.read("a.txt"), "one\n");
  await notice.getByRole("button", { name: "Undo Rewind" }).click();
  await panel.answer("It is changed.").waitFor();
  await panel.frame.getByText("restore was undone").waitFor();
  assert.equal(editor.read("a.txt"), "uno\n");
  assert.equal(await notice.count(), 0);

  // Another request ends it.
  await rewind(panel, "Change it.");
  await card.getByRole("button", { name: "Restore 1 File and Rewind" }).click();
  await notice.waitFor();
  await panel.ask("Something else.");
  await panel.answer("Something else it is.").waitFor();
  assert.equal(await notice.count(), 0);

  // What was behind a request that is asked again comes back too.
  await panel.frame.locator(".row.user").first().hover();
  await panel.frame.locator(".row.user").first().getByRole("button", { name: "Ask Again", exact: true }).click();
  await panel.answer("I am here, again.").waitFor();
  await notice.getByText("Asked again without the later conversation.").waitFor();
  await editor.shoot("rewind-7-asked-again");
  await notice.getByRole("button", { name: "Restore Conversation" }).click();
  const last = panel.answer("Something else it is.");
  await last.waitFor();
  assert.equal(await notice.count(), 0);

  // Another answer alone has its versions.
  await last.hover();
  await last.getByRole("button", { name: "Answer Again" }).click();
  await panel.answer("Here once more.").getByRole("group", { name: "Version 2 of 2" }).waitFor();
  assert.equal(await notice.count(), 0);
});

test("a file comes back byte by byte in any encoding, open or not, and can be undone where it is open", async () => {
  const long = "caf\xe9 one\r\nend\r\n";
  const before: Record<string, Buffer> = {
    "latin-open.txt": Buffer.from(long, "latin1"),
    "latin.txt": Buffer.from(long, "latin1"),
    "bom-open.txt": Buffer.from("\uFEFF– one\nend\n"),
    "bom.txt": Buffer.from("\uFEFF– one\nend\n"),
    "mixed-open.txt": Buffer.from("a\r\none\nb\rc\r\n"),
    "mixed.txt": Buffer.from("a\r\none\nb\rc\r\n"),
    "wide.txt": Buffer.from("\uFEFFcafé one\r\nend", "utf16le"),
    "twice.txt": Buffer.from("one two\r\n"),
  };
  const paths = Object.keys(before);
  const calls = paths.filter((path) => path !== "twice.txt").map((path) => edit(path, path, "one", "uno\ndue"));
  using probe = new Probe({
    answers: [
      // All at the same time, some of them in the same file.
      {
        calls: [
          ...calls,
          edit("t1", "twice.txt", "one", "uno"),
          edit("t2", "twice.txt", "two", "due"),
          edit("t3", "latin.txt", "end", "→"),
        ],
      },
      { say: "All is changed." },
    ],
  });
  await using editor = await Editor.start({
    extensions: PACKAGES,
    shared: true,
    settings: { ...SETTINGS, "files.encoding": "iso88591", "files.insertFinalNewline": true },
    environment: { PROBE: probe.folder },
    before: async ({ folder }) => {
      for (const [path, bytes] of Object.entries(before)) writeFileSync(join(folder, path), bytes);
    },
  });
  const bytes = (): Record<string, Buffer> => Object.fromEntries(paths.map((path) => [path, readFileSync(join(editor.folder, path))]));
  for (const path of paths.filter((path) => path.includes("-open"))) await editor.open(path);
  const panel = await Panel.open(editor);
  await panel.ask("Change the files.");
  await panel.answer("All is changed.").waitFor();
  const changed = bytes();
  const longer = Buffer.from("caf\xe9 uno\r\ndue\r\nend\r\n", "latin1");
  assert.deepEqual(changed, {
    "latin-open.txt": longer,
    "latin.txt": longer,
    "bom-open.txt": Buffer.from("\uFEFF– uno\ndue\nend\n"),
    "bom.txt": Buffer.from("\uFEFF– uno\ndue\nend\n"),
    "mixed-open.txt": Buffer.from("a\r\nuno\ndue\nb\rc\r\n"),
    "mixed.txt": Buffer.from("a\r\nuno\ndue\nb\rc\r\n"),
    // As the settings have it where the editor saves.
    "wide.txt": Buffer.from("\uFEFFcafé uno\r\ndue\r\nend\r\n", "utf16le"),
    "twice.txt": Buffer.from("uno due\r\n"),
  });
  const refused = JSON.stringify(probe.asked.at(-1)?.messages ?? []);
  assert.match(refused, /latin\.txt is encoded as iso88591, which cannot represent all characters of the new text/);

  const card = panel.frame.locator(".row.rewind");
  await rewind(panel, "Change the files.");
  await card.waitFor();
  await editor.shoot("rewind-6-bytes");
  await card.getByRole("button", { name: "Restore 8 Files and Rewind" }).click();
  const told = panel.frame.locator(".notices .notice").filter({ hasText: "Restored 8 files." });
  await told.waitFor();
  assert.deepEqual(bytes(), before);

  // Undone where it is open, it says what the agent wrote, and the disk says so only once it is saved.
  const shown = editor.page.locator(".editor-instance .view-line");
  for (const path of ["latin-open.txt", "mixed-open.txt"]) {
    await editor.open(path);
    await shown.filter({ hasText: "one" }).first().click();
    await editor.page.keyboard.press("Control+Z");
    await shown.filter({ hasText: "uno" }).first().waitFor();
    assert.deepEqual(bytes(), before);
    await editor.page.keyboard.press("Control+Y");
    await shown.filter({ hasText: "one" }).first().waitFor();
    await editor.page.locator(".tab.active.dirty").waitFor({ state: "detached" });
  }
  await told.getByRole("button", { name: "Undo Restore" }).click();
  await panel.frame.getByText("restore was undone").waitFor();
  assert.deepEqual(bytes(), changed);
});

test("what was typed and not saved is lost neither by an edit of the agent nor by taking a restore back", async () => {
  using probe = new Probe({ answers: [{ calls: [edit("c1", "a.txt", "one", "uno")] }, { say: "It says uno." }] });
  await using editor = await oneFile(probe);
  const line = editor.page.locator(".editor-instance .view-line").first();
  const says = (words: string) =>
    until(async () => (await line.textContent())?.replaceAll("\u00a0", " ") === words, `the editor says ${words}`);
  const type = async (words: string): Promise<void> => {
    await line.click();
    await editor.page.keyboard.press("Control+Home");
    await editor.page.keyboard.type(words);
  };
  await editor.open("a.txt");
  await type("first ");
  const panel = await Panel.open(editor);
  await panel.ask("Say it in Italian.");
  await panel.answer("It says uno.").waitFor();
  assert.equal(editor.read("a.txt"), "first uno\n");
  await type("second ");
  await says("second first uno");

  const card = panel.frame.locator(".row.rewind");
  await rewind(panel, "Say it in Italian.");
  await card.getByText("Has unsaved changes, which would be lost.").waitFor();
  await card.getByRole("checkbox", { name: "Restore a.txt" }).click();
  await card.getByRole("button", { name: "Restore 1 File and Rewind" }).click();
  const told = panel.frame.locator(".notices .notice").filter({ hasText: "Restored 1 file." });
  await told.waitFor();
  assert.equal(editor.read("a.txt"), "first one\n");
  await says("first one");
  await told.getByRole("button", { name: "Undo Restore" }).click();
  await panel.frame.getByText("restore was undone").waitFor();
  await says("second first uno");
  assert.equal(editor.read("a.txt"), "first uno\n", "and it is not saved, as it was not");
});

test("what is in the way of a file is named, and the others are restored all the same", async () => {
  const paths = ["a.txt", "folder.txt", "link.txt", "locked.txt", "mine.txt"];
  using probe = new Probe({
    answers: [
      {
        calls: [
          ...paths.map((path) => edit(path, path, "one", "uno")),
          { id: "made", name: "write_file", input: { path: "made.txt", text: "made\n" } },
        ],
      },
      { calls: [{ id: "rm", name: "run_command", input: { command: "rm LICENSE && mv -v notes moved", folder: "sub" } }] },
      { say: "All is changed." },
    ],
  });
  await using editor = await Editor.start({
    extensions: PACKAGES,
    shared: true,
    files: { ...Object.fromEntries(paths.map((path) => [path, "one\n"])), "sub/LICENSE": "none\n", "sub/notes": "some\n" },
    settings: SETTINGS,
    environment: { PROBE: probe.folder },
  });
  const at = (path: string): string => join(editor.folder, path);
  const panel = await Panel.open(editor);
  await panel.ask("Change the files.");
  await panel.answer("All is changed.").waitFor();
  for (const path of ["folder.txt", "link.txt"]) unlinkSync(at(path));
  mkdirSync(at("folder.txt"));
  writeFileSync(join(editor.root, "outside.txt"), "outside\n");
  symlinkSync(join(editor.root, "outside.txt"), at("link.txt"));
  chmodSync(at("locked.txt"), 0o444);
  editor.write("mine.txt", "by hand\n");
  // Taken away and made anew by somebody else.
  unlinkSync(at("made.txt"));
  editor.write("made.txt", "mine\n");

  const card = panel.frame.locator(".row.rewind");
  const box = (path: string) => card.getByRole("checkbox", { name: `Restore ${path}` });
  await rewind(panel, "Change the files.");
  await card.waitFor();
  const lost = card.locator(".lost li");
  await lost.filter({ hasText: "sub/LICENSE" }).filter({ hasText: "missing; run_command was called to delete or move it" }).waitFor();
  await lost.filter({ hasText: "sub/notes" }).filter({ hasText: "missing" }).waitFor();
  await lost.filter({ hasText: "sub/moved" }).filter({ hasText: "changed by run_command" }).waitFor();
  await lost.filter({ hasText: "run_command: rm LICENSE && mv -v notes moved (in sub)" }).waitFor();
  await lost.filter({ hasText: "folder.txt" }).filter({ hasText: "a folder now has its name" }).waitFor();
  await lost.filter({ hasText: "link.txt" }).filter({ hasText: "it now leads outside the folder through a link" }).waitFor();
  await lost.filter({ hasText: "locked.txt" }).filter({ hasText: "it is read-only" }).waitFor();
  assert.deepEqual(
    [await box("a.txt").isChecked(), await box("mine.txt").isChecked(), await box("made.txt").isChecked()],
    [true, false, false],
  );
  await editor.shoot("rewind-7-in-the-way");

  // Chosen over what was written by hand; it is written again before the answer, so the user is asked again.
  await box("mine.txt").click();
  await box("made.txt").click();
  editor.write("mine.txt", "by hand, again\n");
  unlinkSync(at("made.txt"));
  await card.getByRole("button", { name: "Restore 3 Files and Rewind" }).click();
  await panel.frame.getByText("mine.txt and made.txt changed in the meantime, so nothing was done.").waitFor();
  assert.deepEqual([editor.read("a.txt"), editor.read("mine.txt")], ["uno\n", "by hand, again\n"]);
  assert.equal(await panel.frame.locator(".row.user").count(), 1);

  // Escape leaves all as it is.
  await until(async () => !(await box("mine.txt").isChecked()), "it is not chosen any more");
  await box("mine.txt").press("Escape");
  await card.waitFor({ state: "detached" });

  await rewind(panel, "Change the files.");
  await card.getByRole("button", { name: "Restore 1 File and Rewind" }).click();
  const told = panel.frame.locator(".notices .notice").filter({ hasText: "Restored 1 file." });
  await told.waitFor();
  assert.deepEqual([editor.read("a.txt"), editor.read("mine.txt"), editor.read("locked.txt")], ["one\n", "by hand, again\n", "uno\n"]);
  assert.equal(readFileSync(join(editor.root, "outside.txt"), "utf8"), "outside\n");

  // What was written after the restore stays, and taking back says so.
  editor.write("a.txt", "newer\n");
  await told.getByRole("button", { name: "Undo Restore" }).click();
  await panel.frame.getByText("The restore of a.txt could not be undone.").waitFor();
  assert.equal(editor.read("a.txt"), "newer\n");
  editor.write("a.txt", "one\n");
  await panel.frame.getByRole("button", { name: "Try Again" }).click();
  await panel.frame.getByText("restore was undone").waitFor();
  assert.equal(editor.read("a.txt"), "uno\n");
});

test("a folder with more files than are looked at says so", async () => {
  using probe = new Probe({
    answers: [{ calls: [{ id: "c", name: "run_command", input: { command: "echo done" } }] }, { say: "All is done." }],
  });
  await using editor = await Editor.start({
    extensions: PACKAGES,
    shared: true,
    settings: SETTINGS,
    environment: { PROBE: probe.folder },
    before: async ({ folder }) => {
      mkdirSync(join(folder, "many"));
      for (let at = 0; at <= 20_000; at += 1) writeFileSync(join(folder, "many", `${at}.txt`), "");
    },
  });
  const panel = await Panel.open(editor);
  await panel.ask("Do something.");
  await panel.answer("All is done.").waitFor();
  await rewind(panel, "Do something.");
  const lost = panel.frame.locator(".row.rewind .lost li");
  await lost.filter({ hasText: "only the first 20,000 files were checked" }).waitFor();
  assert.equal(await lost.count(), 2, "and the command");
});

async function rewind(panel: Panel, words: string): Promise<void> {
  const row = panel.frame.locator(".row.user").filter({ hasText: words });
  await row.hover();
  await row.getByRole("button", { name: "Rewind to Here…" }).click();
}
