// The chat goes back and the files with it: those that the agent's edit tools changed are restored, also after a restart
// of the editor; what somebody else changed is not overwritten without a word, what nobody can restore is named.

import assert from "node:assert/strict";
import { chmodSync, existsSync, statSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Editor, until } from "../support/editor.ts";
import { Panel } from "../support/panel.ts";
import { Probe } from "../support/probe.ts";
import { PACKAGES, SCRIPTED } from "../support/settings.ts";

const SETTINGS = { ...SCRIPTED, "threadhold.approve.edit": "allow", "threadhold.approve.run": "allow" };
const edit = (id: string, path: string, old: string, now: string) => ({ id, name: "edit_file", input: { path, old, new: now } });

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
  assert.match(said, /new\.txt.*the agent made it; it is deleted/);
  assert.match(said, /b\.txt.*Changed since by somebody else: that would be lost/);
  assert.match(said, /Cannot be restored:out\.txt.*changed by run_command.*c\.txt.*is gone since a command named it.*run_command: echo printed/);
  assert.doesNotMatch(said, /d\.txt/);

  // What restoring would change is shown, and nothing is done by looking.
  await card.getByRole("button", { name: "Show what changes in a.txt" }).click();
  await editor.page.locator(".tab.active").filter({ hasText: "now and restored" }).waitFor();
  await editor.page.locator(".modified .view-line").filter({ hasText: "one" }).waitFor();
  await editor.shoot("rewind-2-diff");
  await card.getByRole("button", { name: "Cancel" }).click();
  await card.waitFor({ state: "detached" });
  assert.equal(await panel.frame.locator(".row.user").count(), 2);
  assert.equal(editor.read("a.txt"), "eins\n");

  await rewind(panel, "Change the files.");
  await card.getByRole("button", { name: "Restore 2 files, rewind" }).click();
  const told = panel.frame.locator(".notices .notice").filter({ hasText: "2 files are restored." });
  await told.waitFor();
  await editor.shoot("rewind-3-rewound");
  assert.equal(editor.read("a.txt"), "one\n");
  assert.equal(existsSync(join(editor.folder, "new.txt")), false);
  assert.equal(editor.read("b.txt"), "due\nand a line by hand\n", "what somebody else wrote stays");
  assert.equal(editor.read("out.txt"), "printed\n");
  assert.equal(await panel.frame.locator(".row.user").count(), 1);
  await until(async () => (await panel.prompt.inputValue()) === "Change the files.", "the words are in the prompt again");

  // Taken back.
  await told.getByRole("button", { name: "Undo restoring" }).click();
  await panel.frame.getByText("as they were before they were restored").waitFor();
  assert.deepEqual([editor.read("a.txt"), editor.read("new.txt")], ["eins\n", "made\n"]);

  // The conversation as it stood is a session, and can be rewound too; this time over what somebody wrote.
  await panel.button("Sessions of this folder").click();
  await panel.frame.locator(".sessions li").filter({ hasText: "as it stood before a change" }).locator("button.open").click();
  await panel.answer("All is changed.").waitFor();
  unlinkSync(join(editor.folder, "a.txt"));
  await rewind(panel, "Change the files.");
  await card.getByText("is gone by now; it is written again").waitFor();
  await box("b.txt").click();
  await editor.shoot("rewind-4-all");
  // What changes between the question and the answer is not overwritten either.
  editor.write("new.txt", "mine now\n");
  await card.getByRole("button", { name: "Restore 3 files, rewind" }).click();
  await panel.frame.getByText("Files changed while you decided, and nothing was done.").waitFor();
  assert.deepEqual([editor.read("b.txt"), editor.read("new.txt")], ["due\nand a line by hand\n", "mine now\n"]);
  await until(async () => !(await box("new.txt").isChecked()), "it is not chosen any more");
  await box("new.txt").click();
  await box("b.txt").click();
  await card.getByRole("button", { name: "Restore 3 files, rewind" }).click();
  await panel.frame.getByText("3 files are restored.").waitFor();
  assert.deepEqual([editor.read("a.txt"), editor.read("b.txt")], ["one\n", "two\n"]);
  assert.equal(existsSync(join(editor.folder, "new.txt")), false);
  assert.ok((statSync(join(editor.folder, "b.txt")).mode & 0o111) !== 0, "it may still be run");
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
  await using editor = await Editor.start({ extensions: PACKAGES, files: { "a.txt": "one\n" }, settings: SETTINGS, environment: { PROBE: probe.folder } });
  const panel = await Panel.open(editor);
  await panel.ask("Say it in Italian.");
  await panel.answer("It says uno.").waitFor();
  const first = panel.frame.locator(".row.user").first();
  await first.hover();
  await panel.write(first.getByRole("button", { name: "Edit and ask again" }), "Say it in English.");
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
  await card.getByRole("button", { name: "Restore 1 file, ask again" }).click();
  await panel.answer("It stays as it is.").waitFor();
  assert.equal(editor.read("a.txt"), "one\n");
  assert.equal(await panel.frame.locator(".row.user").first().locator(".words").textContent(), "Say it in English.");
  await editor.shoot("rewind-5-asked-again");

  await panel.answer("It stays as it is.").hover();
  await panel.answer("It stays as it is.").getByRole("button", { name: "Answer again" }).click();
  await panel.answer("Nothing changed, so nothing was asked.").waitFor();
});

async function rewind(panel: Panel, words: string): Promise<void> {
  const row = panel.frame.locator(".row.user").filter({ hasText: words });
  await row.hover();
  await row.getByRole("button", { name: "Rewind to here…" }).click();
}
