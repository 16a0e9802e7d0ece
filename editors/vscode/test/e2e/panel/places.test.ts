// One session in two places: the view in the secondary side bar and an editor tab show the same, what is typed in one is
// seen in the other, and the tab is there again after the window is loaded anew.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Editor, until } from "../../support/editor.ts";
import { Panel } from "../../support/panel.ts";
import { Probe } from "../../support/probe.ts";
import { PACKAGES, SCRIPTED } from "../../support/settings.ts";

const run = (id: string) => ({ id, name: "run_command", input: { command: `echo ${id}` } });

test("the tab and the view show one session, and the tab survives a reload", async () => {
  using probe = new Probe({
    answers: [
      { first: "I begin. ", holdWhile: "held", then: "I run it.", calls: [run("one")] },
      { say: "It ran:\n\n```js\nlet a = 1;\n```\n" },
      { say: "Said in the other place." },
      { say: "Said after the reload." },
    ],
  });
  probe.hold("held");
  await using editor = await Editor.start({
    extensions: PACKAGES,
    settings: SCRIPTED,
    files: { "a.txt": "a\n" },
    environment: { PROBE: probe.folder },
  });
  const { page } = editor;
  const view = await Panel.open(editor);
  assert.ok(await Panel.sideBar(editor).isVisible(), "the view is in the secondary side bar");
  assert.equal(await page.locator(".part.sidebar iframe").count(), 0);

  // What is typed and not sent goes along, and words are seen in both while they come.
  await view.prompt.fill("A question");
  await editor.command("threadhold: Open in Editor");
  const tab = await Panel.on(editor, page, "tab");
  const holds = (panel: Panel, words: string): Promise<void> =>
    until(async () => (await panel.prompt.inputValue()) === words, `the prompt holds “${words}”`);
  await holds(tab, "A question");
  await until(() => tab.prompt.evaluate((prompt) => prompt.matches(":focus")), "the prompt of the tab has the focus");
  await page.keyboard.press("End");
  await page.keyboard.type(" from the tab");
  await holds(view, "A question from the tab");
  await page.keyboard.press("Enter");
  await holds(tab, "");
  await holds(view, "");
  await tab.answer("I begin.").waitFor();
  await view.answer("I begin.").waitFor();
  await editor.shoot("places-1-streaming");
  probe.release("held");

  // A decision waits in both, and is made in one.
  await tab.button("Allow").waitFor();
  await view.button("Allow").waitFor();
  await page.locator(".tab.active").filter({ hasText: "A question from the tab" }).waitFor();
  await editor.shoot("places-2-decision");
  await view.button("Allow").click();
  await tab.answer("It ran:").waitFor();
  assert.equal(await tab.button("Allow").count(), 0);
  // Each has the colours of its own blocks.
  for (const panel of [tab, view]) await panel.frame.locator(".code span[style]").first().waitFor();
  await editor.shoot("places-3-colors");

  await view.ask("And here?");
  await tab.answer("Said in the other place.").waitFor();
  assert.deepEqual(await tab.rows.count(), await view.rows.count());

  // What is offered for words that are typed is offered where they are typed.
  await tab.prompt.fill("@a.t");
  await tab.frame.getByRole("option", { name: "a.txt" }).waitFor();
  assert.equal(await view.frame.getByRole("option").count(), 0);
  await tab.prompt.fill("");
  await holds(view, "");

  await tab.prompt.fill("Not sent yet");
  await holds(view, "Not sent yet");
  await editor.reload(Panel.STORED_TAB);
  const restored = await Panel.on(editor, page, "tab");
  await restored.answer("Said in the other place.").waitFor();
  await holds(restored, "Not sent yet");
  await restored.ask("Still there?");
  await restored.answer("Said after the reload.").waitFor();
  await page.locator(".tab.active").filter({ hasText: "A question from the tab" }).waitFor();
  await view.answer("Said after the reload.").waitFor();

  // Run again, the command shows the tab that there is; closed, the view is the panel.
  await editor.command("threadhold: Open in Editor");
  assert.equal(await page.locator(".tab").count(), 1);
  await page.locator(".tab.active").click({ button: "middle" });
  await page.locator(".tab").waitFor({ state: "detached" });
  await editor.command("threadhold: Open Agent Panel");
  await until(() => view.prompt.evaluate((prompt) => prompt.matches(":focus")), "the prompt of the view has the focus");
});
