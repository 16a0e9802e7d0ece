// Notifications: a decision that waits where the user does not look is told, and one that they see is not.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Editor, until } from "../../support/editor.ts";
import { Panel } from "../../support/panel.ts";
import { Probe } from "../../support/probe.ts";
import { PACKAGES, SCRIPTED } from "../../support/settings.ts";

test("a decision that waits in a session that is not seen is told, and opens it", async () => {
  const run = (id: string) => ({ id, name: "run_command", input: { command: `echo ${id}` } });
  using probe = new Probe({
    window: 64_000,
    answers: [
      { say: "I run one.", calls: [run("seen")] },
      { say: "I run another.", holdWhile: "one", calls: [run("hidden")] },
      { say: "Both ran.", holdWhile: "two" },
    ],
  });
  probe.hold("one");
  probe.hold("two");
  await using editor = await Editor.start({
    extensions: PACKAGES,
    settings: { ...SCRIPTED, "threadhold.notify": "decisionsAndAnswers" },
    environment: { PROBE: probe.folder },
  });
  const { page } = editor;
  const toasts = page.locator(".notification-toast");
  const badge = page
    .locator(".part.auxiliarybar .composite-bar .action-item")
    .filter({ has: page.locator("[aria-label*=hreadhold]") })
    .locator(".badge-content");
  let panel = await Panel.open(editor);
  // Where the side bar is narrow, its icons are in a menu.
  await Panel.resize(editor, 600);
  await panel.ask("Run two commands.");
  await panel.button("Allow").waitFor();
  await until(async () => (await badge.allTextContents()).join() === "1", "the icon shows that one waits");
  assert.equal(await editor.toast("waiting for your decision").count(), 0, "nothing is told of what is seen");
  await panel.button("Allow").click();
  await until(async () => (await badge.allTextContents()).join("") === "", "none waits");

  await editor.command("View: Toggle Secondary Side Bar Visibility");
  await panel.prompt.waitFor({ state: "hidden" });
  probe.release("one");
  const told = editor.toast("“Run two commands.” is waiting for your decision: Run a command, echo hidden.");
  await told.waitFor();
  await editor.shoot("notifications-1-waits");
  await told.getByRole("button", { name: "Open Session" }).click();
  panel = await Panel.on(editor);
  await panel.button("Allow").click();

  // The session goes on behind another one.
  await editor.command("threadhold: New Session");
  await panel.frame.getByText("Ask about this folder.").waitFor();
  probe.release("two");
  await editor.toast("“Run two commands.” has answered.").waitFor();
  assert.equal(await toasts.filter({ hasText: "waiting for your decision" }).count(), 0);
});
