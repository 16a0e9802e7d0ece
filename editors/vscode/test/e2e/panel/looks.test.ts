// How the panel looks and is used by the keyboard alone: three themes, two widths, everything that a row can be. What is
// asserted is what can be; the pictures are for people.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Editor, until } from "../../support/editor.ts";
import { Panel } from "../../support/panel.ts";
import { Probe } from "../../support/probe.ts";
import { PACKAGES, SCRIPTED } from "../../support/settings.ts";

const MARKDOWN = `## What I found
A list, with \`code\` and **bold** words:

1. The [lexer](src/lexer.rs) scans.
2. The parser waits for [its tokens](https://example.com/tokens).

| file | lines | state |
|---|---|---|
| lexer.rs | 120 | done |
| parser.rs | 4 | begun, with a rather long remark that has to fit somewhere |

\`\`\`rust
fn scan(input: &str, from: usize) -> Option<Token> { todo!("a long line that does not fit into a narrow panel") }
\`\`\`

> A quotation, and <b>HTML that is text</b>. ![a picture](https://example.com/picture.png)
`;

const THEMES = { light: "Default Light Modern", dark: "Default Dark Modern", contrast: "Default High Contrast" };

test("three themes and two widths", async () => {
  using probe = new Probe({
    answers: [
      { say: MARKDOWN },
      { say: "I change it.", calls: [{ id: "c1", name: "edit_file", input: { path: "a.txt", old: "hello", new: "goodbye" } }] },
    ],
  });
  await using editor = await Editor.start({
    extensions: PACKAGES,
    files: { "a.txt": "hello\n" },
    settings: SCRIPTED,
    environment: { PROBE: probe.folder },
  });
  const panel = await Panel.open(editor);
  await panel.ask("What did you find?");
  await panel.answer("What I found").waitFor();
  assert.equal(await panel.frame.locator(".markdown b").count(), 0, "HTML of a model is text");
  assert.equal(await panel.frame.locator(".markdown img").count(), 0, "a picture from elsewhere is a link");
  await panel.ask("Then change it.");
  await panel.button("Allow").waitFor();
  for (const [name, theme] of Object.entries(THEMES)) {
    editor.settings({ ...SCRIPTED, "workbench.colorTheme": theme });
    const kind = { light: "vscode-light", dark: "vscode-dark", contrast: "vscode-high-contrast" }[name] ?? "";
    await until(async () => (await panel.frame.locator("body").getAttribute("class"))?.includes(kind) ?? false, `the panel is ${name}`);
    await panel.meter.click();
    await editor.shoot(`looks-${name}-300`);
    await panel.meter.click();
    await panel.toStart();
    await Panel.resize(editor, 900);
    await editor.shoot(`looks-${name}-900`);
    await Panel.resize(editor, 300);
    // Nothing sticks out to the side.
    const { wide, view } = await panel.frame.locator("body").evaluate((body) => ({ wide: body.scrollWidth, view: body.clientWidth }));
    assert.ok(wide <= view, `${wide} pixels in ${view}`);
  }
});

test("the keyboard alone", async () => {
  using probe = new Probe({
    answers: [
      { say: "I look.", calls: [{ id: "c1", name: "run_command", input: { command: "echo looked" } }] },
      { say: "It is done." },
      { say: "Another session." },
    ],
  });
  await using editor = await Editor.start({ extensions: PACKAGES, settings: SCRIPTED, environment: { PROBE: probe.folder } });
  const { keyboard } = editor.page;
  const panel = await Panel.open(editor);
  // The command puts the focus into the prompt.
  await until(() => isFocused(panel, "prompt"), "the prompt has the focus");
  await keyboard.type("Look around");
  await keyboard.press("Enter");
  await panel.button("Show").waitFor();
  await press(editor, panel, "Shift+Tab", "Show");
  await keyboard.press("Enter");
  await press(editor, panel, "Tab", "Allow");
  await editor.shoot("looks-keyboard-1-allow");
  await keyboard.press("Enter");
  await panel.answer("It is done.").waitFor();
  // The focus stays in the row; page down and up go from row to row.
  await keyboard.press("PageDown");
  await until(() => focusedRow(panel, "It is done."), "the next row has the focus");
  await keyboard.press("PageUp");
  await until(() => focusedRow(panel, "Ran echo looked"), "the row before has the focus");
  await editor.shoot("looks-keyboard-2-row");
  // What a row offers can be reached.
  await keyboard.press("PageDown");
  await press(editor, panel, "Tab", "pin");
  await keyboard.press("Enter");
  await panel.answer("It is done.").getByText("Pinned").waitFor();
  // The sessions of the folder, and a new one.
  await editor.command("threadhold: New Session");
  await until(() => isFocused(panel, "prompt"), "the prompt has the focus again");
  await keyboard.type("And here?");
  await keyboard.press("Enter");
  await panel.answer("Another session.").waitFor();
  await editor.command("threadhold: Show Sessions");
  await until(() => isFocused(panel, "search"), "the search has the focus");
  await panel.frame.locator(".sessions").getByText("Look around").waitFor();
  await keyboard.press("ArrowDown");
  await keyboard.press("ArrowDown");
  await editor.shoot("looks-keyboard-3-sessions");
  await keyboard.press("Enter");
  await panel.answer("It is done.").waitFor();
});

async function isFocused(panel: Panel, key: string): Promise<boolean> {
  return panel.frame.locator("body").evaluate((_, key) => (document.activeElement as HTMLElement | null)?.dataset["key"] === key, key);
}

async function focusedRow(panel: Panel, words: string): Promise<boolean> {
  return panel.frame.locator("body").evaluate((_, words) => {
    const row = document.activeElement;
    return row instanceof HTMLElement && row.dataset["row"] !== undefined && (row.textContent ?? "").includes(words);
  }, words);
}

/** Presses a key until something has the focus; a person would not do it very often. */
async function press(editor: Editor, panel: Panel, key: string, wanted: string): Promise<void> {
  for (let times = 0; times < 12; times += 1) {
    if (await isFocused(panel, wanted)) return;
    await editor.page.keyboard.press(key);
    await editor.page.waitForTimeout(50);
  }
  throw new Error(`${key} does not lead to ${wanted}.`);
}
