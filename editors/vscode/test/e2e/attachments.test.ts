// What goes with a question: a file with what is not saved, a selection, a picture; and the one warning before a
// compaction.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Editor, until } from "../support/editor.ts";
import { long, read } from "../support/files.ts";
import { Panel } from "../support/panel.ts";
import { Probe } from "../support/probe.ts";
import { PACKAGES, SCRIPTED } from "../support/settings.ts";

/** One red pixel. */
const PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==";

test("files and pictures are sent along, and a compaction is warned of once", async () => {
  using probe = new Probe({
    window: 16_000,
    answers: [{ say: "I see both." }, { say: "I read.", calls: [read("c1", "one.rs"), read("c2", "two.rs")] }, { say: "Both are read." }],
  });
  await using editor = await Editor.start({
    extensions: PACKAGES,
    files: { "notes.txt": "saved words\n", "one.rs": long("one", 2_000), "two.rs": long("two", 2_000) },
    settings: { ...SCRIPTED, "threadhold.sidecarSettings": { triggers: { background: false } } },
    environment: { PROBE: probe.folder },
  });
  const panel = await Panel.open(editor);
  await until(() => panel.prompt.isEnabled(), "the panel can be asked");
  // A file that is open and changed.
  await editor.page.keyboard.press("Control+P");
  await editor.page.locator(".quick-input-widget input").fill("notes.txt");
  await editor.page.locator(".quick-input-list .monaco-list-row").filter({ hasText: "notes.txt" }).first().waitFor();
  await editor.page.keyboard.press("Enter");
  await editor.page.locator(".tab.active").filter({ hasText: "notes.txt" }).waitFor();
  await editor.page.locator(".monaco-editor .view-lines").first().click();
  await editor.page.keyboard.type("unsaved words ");
  await editor.command("threadhold: Attach to Agent Chat");
  const attached = panel.frame.getByRole("list", { name: "Attached" }).getByRole("listitem");
  await attached.filter({ hasText: "notes.txt" }).waitFor();
  // A picture that is pasted.
  await panel.prompt.evaluate((area, data) => {
    const bytes = Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
    const clipboardData = new DataTransfer();
    clipboardData.items.add(new File([bytes], "red.png", { type: "image/png" }));
    area.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
  }, PICTURE);
  await attached.filter({ hasText: "red.png" }).waitFor();
  await editor.shoot("attachments-1-attached");
  await panel.ask("What do you see?");
  await panel.answer("I see both.").waitFor();
  const asked = JSON.stringify(probe.asked.at(-1)?.messages);
  assert.match(asked, /unsaved words /, "what is not saved is sent too");
  assert.match(asked, /"data":"image\/png"/);
  const question = panel.frame.locator(".row.user").first();
  await question.getByText("notes.txt").waitFor();
  await question.getByRole("img", { name: "Picture 1" }).waitFor();
  assert.equal(await attached.count(), 0, "what was sent is not sent again");
  await editor.shoot("attachments-2-sent");

  await panel.ask("Read both.");
  await panel.answer("Both are read.").waitFor();
  const warning = panel.frame.locator(".notice.warning").filter({ hasText: "until old rounds are summed up" });
  await warning.waitFor();
  await editor.shoot("attachments-3-warned");
  await warning.getByRole("button", { name: "Understood" }).click();
  await warning.waitFor({ state: "detached" });
});
