// What goes with a question: a file with what is not saved, a selection, a picture; and the one warning before a
// compaction.

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { Editor, until } from "../../support/editor.ts";
import { long, read } from "../../support/files.ts";
import { Panel } from "../../support/panel.ts";
import { Probe } from "../../support/probe.ts";
import { PACKAGES, SCRIPTED } from "../../support/settings.ts";

/** One red pixel. */
const PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==";

/** Pastes a picture; it runs in the page. */
function paste(area: Element, { name, data }: { name: string; data: string }): void {
  const bytes = Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
  const clipboardData = new DataTransfer();
  clipboardData.items.add(new File([bytes], name, { type: "image/png" }));
  area.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
}

test("files and pictures are sent along, and a compaction is warned of once", async () => {
  using probe = new Probe({
    window: 16_000,
    answers: [
      { say: "I see both." },
      { say: "I still see both." },
      { say: "One is red." },
      { say: "The other is not there." },
      { say: "I read.", calls: [read("c1", "one.rs"), read("c2", "two.rs")] },
      { say: "Both are read." },
    ],
  });
  await using editor = await Editor.start({
    extensions: PACKAGES,
    shared: true,
    files: {
      "notes.txt": "saved words\n",
      "more.txt": "not wanted after all",
      "large.txt": "x".repeat(1_000_001),
      "program.bin": "\0\x01",
      "one.rs": long("one", 2_250),
      "two.rs": long("two", 2_250),
    },
    settings: { ...SCRIPTED, "threadhold.sidecarSettings": { triggers: { background: false } } },
    environment: { PROBE: probe.folder },
  });
  const panel = await Panel.open(editor);
  await until(() => panel.prompt.isEnabled(), "the panel can be asked");
  // A file that is open and changed.
  await editor.open("notes.txt");
  // Wherever the click found the text.
  await editor.page.keyboard.press("Control+Home");
  await editor.page.keyboard.type("unsaved words ");
  await editor.command("threadhold: Attach to Agent Prompt");
  const attached = panel.frame.getByRole("list", { name: "Attachments" }).getByRole("listitem");
  await attached.filter({ hasText: "notes.txt" }).waitFor();
  await editor.command("threadhold: Attach to Agent Prompt");
  // A picture that is pasted.
  await panel.prompt.evaluate(paste, { name: "red.png", data: PICTURE });
  await attached.filter({ hasText: "red.png" }).waitFor();
  assert.equal(await attached.count(), 2, "a file goes along once");
  // What is selected is pinned.
  await editor.page.locator(".monaco-editor .view-lines").first().click();
  await editor.page.keyboard.press("Control+A");
  await editor.command("threadhold: Pin Selection to Agent Prompt");
  await panel.meter.click();
  await panel.frame
    .locator(".pins")
    .getByText(/notes\.txt:1.*unsaved words/s)
    .waitFor();
  await panel.meter.click();
  await editor.shoot("attachments-1-attached");
  // Files that are dropped: what can go along is taken, and of each other one it is said why not.
  const names = ["more.txt", "large.txt", "program.bin", "gone.txt"];
  await panel.prompt.evaluate(
    (area, uris) => {
      const dataTransfer = new DataTransfer();
      dataTransfer.setData("text/uri-list", uris.join("\r\n"));
      area.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
    },
    names.map((name) => pathToFileURL(join(editor.folder, name)).href),
  );
  await attached.filter({ hasText: "more.txt" }).waitFor();
  const refused = panel.frame.locator(".notice.error");
  await refused.getByText("large.txt was not attached: it is larger than 1 MB").waitFor();
  assert.match((await refused.textContent()) ?? "", /program\.bin is not a text file.*gone\.txt was not attached/s);
  assert.equal(await attached.count(), 3, "what cannot go along is not there");
  await editor.shoot("attachments-2-refused");
  await refused.getByRole("button", { name: "Dismiss" }).click();
  await panel.prompt.evaluate((area) => {
    const clipboardData = new DataTransfer();
    clipboardData.items.add(new File([new Uint8Array(5_200_000)], "huge.png", { type: "image/png" }));
    area.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
  });
  await refused.getByText("huge.png was not attached: it is larger than 5 MB").waitFor();
  await refused.getByRole("button", { name: "Dismiss" }).click();
  // One is taken away again.
  await panel.button("Remove more.txt").click();
  await until(async () => (await attached.count()) === 2, "it is gone");
  await panel.ask("What do you see?");
  await panel.answer("I see both.").waitFor();
  const asked = JSON.stringify(probe.asked.at(-1)?.messages);
  assert.match(asked, /unsaved words /, "what is not saved is sent too");
  assert.match(asked, /"data":"image\/png"/);
  assert.doesNotMatch(asked, /not wanted after all/, "what was taken away is not sent");
  const question = panel.frame.locator(".row.user").first();
  await question.getByText("notes.txt").waitFor();
  await question.getByRole("img", { name: "Image 1" }).waitFor();
  assert.equal(await attached.count(), 0, "what was sent is not sent again");
  await editor.shoot("attachments-3-sent");

  // What was attached stays with a question that is asked in other words.
  await question.hover();
  await panel.write(question.getByRole("button", { name: "Edit and Ask Again" }), "What do you see now?");
  await editor.page.keyboard.press("Control+Enter");
  await panel.answer("I still see both.").waitFor();
  const edited = JSON.stringify(probe.asked.at(-1)?.messages);
  assert.match(edited, /What do you see now\?/);
  assert.match(edited, /unsaved words /, "the file is sent again");
  assert.match(edited, /"data":"image\/png"/, "and the picture");
  await panel.frame.locator(".row.user").first().getByText("notes.txt").waitFor();

  // Whatever is attached and typed while a request is sent, is of the next one; what it took, no other request takes.
  await panel.prompt.evaluate(paste, { name: "first.png", data: PICTURE });
  await attached.filter({ hasText: "first.png" }).waitFor();
  await panel.prompt.evaluate((area: HTMLTextAreaElement) => {
    for (const words of ["Is one red?", "Is the other?"]) {
      area.value = words;
      area.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true }));
    }
    const clipboardData = new DataTransfer();
    clipboardData.items.add(new File(["late"], "late.png", { type: "image/png" }));
    area.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
    area.value = "typed meanwhile";
    area.dispatchEvent(new InputEvent("input"));
    area.dispatchEvent(new FocusEvent("blur"));
  });
  await panel.answer("The other is not there.").waitFor();
  const pictures = (words: string) => panel.frame.locator(".row.user").filter({ hasText: words }).getByRole("img").count();
  assert.deepEqual([await pictures("Is one red?"), await pictures("Is the other?")], [1, 0]);
  await attached.filter({ hasText: "late.png" }).waitFor();
  assert.equal(await attached.count(), 1, "only what came later goes with the next one");
  await editor.shoot("attachments-4-attached-meanwhile");
  await panel.button("Remove late.png").click();
  await editor.command("threadhold: New Session");
  await until(async () => (await panel.prompt.inputValue()) === "", "another session is shown");
  await panel.button("Show Sessions").click();
  await panel.frame
    .locator(".sessions button.open")
    .filter({ hasText: /What do you see/ })
    .first()
    .click();
  await until(async () => (await panel.prompt.inputValue()) === "typed meanwhile", "the draft was kept");

  await panel.ask("Read both.");
  await panel.answer("Both are read.").waitFor();
  const warning = panel.frame.locator(".notice.warning").filter({ hasText: "until the next compaction. Compact now" });
  await warning.waitFor();
  await editor.shoot("attachments-5-warned");
  await warning.getByRole("button", { name: "Dismiss" }).click();
  await warning.waitFor({ state: "detached" });
});
