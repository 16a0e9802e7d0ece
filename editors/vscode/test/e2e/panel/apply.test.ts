// Code of an answer is proposed as a diff: for the file that its block names, else for the one in the editor. Nothing is
// written before it is kept, all at once or change by change.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Editor, until } from "../../support/editor.ts";
import { Panel } from "../../support/panel.ts";
import { Probe } from "../../support/probe.ts";
import { PACKAGES, SCRIPTED } from "../../support/settings.ts";

const TEN = Array.from({ length: 10 }, (_, at) => `line ${at + 1}`);
const text = (lines: readonly string[]): string => `${lines.join("\n")}\n`;
const changed = TEN.map((line, at) => (at === 1 || at === 7 ? `changed ${at + 1}` : line));
const rewritten = TEN.map((line) => line.replace("line", "row"));

const ANSWER = `Change it:

\`\`\`txt src/ten.txt
${text(changed)}\`\`\`

Then create \`src/new.txt\`:

\`\`\`
created
\`\`\`

And wherever the cursor is:

\`\`\`js
inserted
\`\`\`

Or all of it anew:

\`\`\`txt title="src/ten.txt"
${text(rewritten)}\`\`\`
`;

test("code is proposed as a diff and written once it is kept", async () => {
  using probe = new Probe({ window: 64_000, answers: [{ say: ANSWER }] });
  await using editor = await Editor.start({
    extensions: PACKAGES,
    shared: true,
    files: { "src/ten.txt": text(TEN), "a.js": "first\nsecond\nthird\nfourth\n" },
    settings: SCRIPTED,
    environment: { PROBE: probe.folder },
  });
  const { page } = editor;
  const { keyboard } = page;
  const panel = await Panel.open(editor);
  await panel.ask("What do I write?");
  const apply = (at: number) => panel.frame.locator(".code").nth(at).getByRole("button", { name: "Apply in Editor" });
  const diff = (name: string) => page.locator(".tab.active").filter({ hasText: `${name} (Proposed by Agent)` });
  const action = (name: string) => page.locator(".editor-actions").getByRole("button", { name });
  const modified = (words: RegExp) => page.locator(".editor.modified .view-line").filter({ hasText: words });

  // No file is named, and none is open.
  await apply(2).click();
  await panel.frame.getByText("The code names no file, and no file is open in an editor; open the file, and apply again.").waitFor();
  await panel.button("Dismiss").click();

  // A whole file: change by change.
  await panel.toStart();
  await apply(0).click();
  await diff("src/ten.txt").waitFor();
  await modified(/^changed.8$/).waitFor();
  await editor.shoot("apply-1-whole");
  assert.equal(editor.read("src/ten.txt"), text(TEN), "nothing is written before it is kept");
  await modified(/^changed.2$/).click();
  await keyboard.press("Control+K");
  await keyboard.press("Alt+Z");
  await modified(/^line.2$/).waitFor();
  assert.equal(editor.read("src/ten.txt"), text(TEN));
  await modified(/^changed.8$/).click();
  await keyboard.press("Control+K");
  await keyboard.press("Alt+Y");
  // Nothing is left of it.
  await diff("src/ten.txt").waitFor({ state: "detached" });
  const kept = text(TEN.map((line, at) => (at === 7 ? "changed 8" : line)));
  await until(() => editor.read("src/ten.txt") === kept, "the change that was kept is written, and the other is not");

  // A new file, which the line before names: dropped, then kept.
  await apply(1).click();
  await diff("src/new.txt").waitFor();
  await action("Undo Changes in File").click();
  await diff("src/new.txt").waitFor({ state: "detached" });
  assert.equal(existsSync(join(editor.folder, "src/new.txt")), false);
  await apply(1).click();
  await diff("src/new.txt").waitFor();
  await modified(/^created$/).waitFor();
  await editor.shoot("apply-2-new");
  await action("Keep Changes in File").click();
  await until(() => existsSync(join(editor.folder, "src/new.txt")) && editor.read("src/new.txt") === "created\n", "it is created");

  // A part goes to the cursor of the file that is open.
  await editor.open("a.js");
  await keyboard.press("Control+Home");
  await keyboard.press("Shift+End");
  await apply(2).click();
  await diff("a.js").waitFor();
  await modified(/^inserted$/).waitFor();
  await editor.shoot("apply-3-part");
  await action("Keep Changes in File").click();
  await until(() => editor.read("a.js") === "inserted\nsecond\nthird\nfourth\n", "it is in place of what was selected");

  // Where it cannot be told, the question says so; what changed meanwhile is not overwritten.
  await apply(3).click();
  const question = page.locator(".quick-input-widget");
  const words = "It cannot be told whether the code is the whole file";
  await until(async () => (await question.locator("input").getAttribute("placeholder")) === words, "it asks");
  await editor.shoot("apply-4-question");
  await keyboard.press("Enter");
  await diff("src/ten.txt").waitFor();
  const others = `${kept}by hand\n`;
  editor.write("src/ten.txt", others);
  await page.locator(".editor.original .view-line").filter({ hasText: "by hand" }).waitFor();
  await action("Keep Changes in File").click();
  await editor.toast("changed since this was proposed").waitFor();
  assert.equal(editor.read("src/ten.txt"), others);
});

test("code is inserted into the editor behind the tab of the panel", async () => {
  using probe = new Probe({ answers: [{ say: "Write this:\n\n```js\nlet a = 1;\n```\n" }] });
  await using editor = await Editor.start({
    extensions: PACKAGES,
    shared: true,
    files: { "a.js": "first\nsecond\n" },
    settings: SCRIPTED,
    environment: { PROBE: probe.folder },
  });
  await editor.open("a.js");
  await editor.page.keyboard.press("Control+End");
  await editor.command("threadhold: Open in Editor");
  const panel = await Panel.on(editor, editor.page, "tab");
  await panel.ask("What do I write?");
  await panel.frame.getByRole("button", { name: "Insert at Cursor" }).click();
  await editor.page.locator(".tab.active").filter({ hasText: "a.js" }).waitFor();
  await until(async () => (await editor.page.locator(".monaco-editor .view-line").count()) === 3, "the code is in the file");
  await editor.page.keyboard.press("Control+S");
  await until(() => editor.read("a.js") === "first\nsecond\nlet a = 1;", "it is at the cursor");
});
