// Versions of a message stand at the message: another answer, an edited request, and what was behind each of them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Editor } from "../../support/editor.ts";
import { Panel } from "../../support/panel.ts";
import { Probe } from "../../support/probe.ts";
import { PACKAGES, SCRIPTED } from "../../support/settings.ts";

test("versions of answers and requests are gone through where they stand", async () => {
  using probe = new Probe({
    answers: [
      { say: "First answer." },
      { say: "Second answer." },
      { say: "Third answer." },
      { say: "Answer behind." },
      { say: "To the edited one." },
    ],
  });
  const settings = { ...SCRIPTED, "workbench.colorTheme": "Default Dark Modern" };
  await using editor = await Editor.start({ extensions: PACKAGES, shared: true, settings, environment: { PROBE: probe.folder } });
  let panel = await Panel.open(editor);
  await panel.ask("The question.");
  for (const [answer, at] of [
    ["First answer.", 2],
    ["Second answer.", 3],
  ] as const) {
    await panel.answer(answer).hover();
    await panel.answer(answer).getByRole("button", { name: "Answer Again" }).click();
    await panel.frame.getByRole("group", { name: `Version ${at} of ${at}` }).waitFor();
  }
  await panel.answer("Third answer.").waitFor();
  assert.equal(await panel.frame.locator(".row.answer").count(), 1, "one version is shown");
  await editor.shoot("versions-1-third");

  await panel.ask("Go on.");
  await panel.answer("Answer behind.").waitFor();
  // What is behind a version goes and comes with it.
  await panel.answer("Third answer.").getByRole("button", { name: "Previous Version" }).click();
  await panel.answer("Second answer.").getByRole("group", { name: "Version 2 of 3" }).waitFor();
  assert.equal(await panel.answer("Answer behind.").count(), 0);
  await panel.answer("Second answer.").getByRole("button", { name: "Previous Version" }).click();
  const first = panel.answer("First answer.");
  await first.getByRole("group", { name: "Version 1 of 3" }).waitFor();
  assert.ok(await first.getByRole("button", { name: "Previous Version" }).isDisabled());
  await first.getByRole("button", { name: "Next Version" }).click();
  await panel.answer("Second answer.").getByRole("button", { name: "Next Version" }).click();
  await panel.answer("Answer behind.").waitFor();

  // A request that is edited has versions of its own; also after a restart.
  const question = panel.rows.filter({ hasText: "Go on." });
  await question.hover();
  await panel.write(question.getByRole("button", { name: "Edit and Ask Again" }), "Go on, please.");
  await panel.frame.locator(".form").getByRole("button", { name: "Ask Again" }).click();
  await panel.answer("To the edited one.").waitFor();
  await editor.down();
  await editor.up();
  panel = await Panel.open(editor);
  const edited = panel.rows.filter({ hasText: "Go on, please." });
  await edited.getByRole("group", { name: "Version 2 of 2" }).waitFor();
  await panel.answer("Third answer.").getByRole("group", { name: "Version 3 of 3" }).waitFor();
  await editor.shoot("versions-2-edited");
  await edited.getByRole("button", { name: "Previous Version" }).click();
  await panel.answer("Answer behind.").waitFor();
  await editor.change({ ...SCRIPTED, "workbench.colorTheme": "Default Light Modern" }, panel.frame.locator("body.vscode-light").waitFor());
  await editor.shoot("versions-3-light");
});
