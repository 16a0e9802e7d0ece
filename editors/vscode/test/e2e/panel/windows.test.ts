// Two windows on one folder: one writes a session, the other one shows what it does, and takes over when it is told to.
// Nothing is lost on the way.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Editor, until } from "../../support/editor.ts";
import { Panel } from "../../support/panel.ts";
import { Probe } from "../../support/probe.ts";
import { PACKAGES, SCRIPTED } from "../../support/settings.ts";

test("the second window follows the first, and takes over", async () => {
  using probe = new Probe({
    answers: [{ say: "Said to the first window." }, { say: "Said to it again." }, { say: "Said to the second one." }],
  });
  await using editor = await Editor.start({ extensions: PACKAGES, settings: SCRIPTED, environment: { PROBE: probe.folder } });
  const first = await Panel.open(editor);
  await first.ask("Who is there?");
  await first.answer("Said to the first window.").waitFor();

  const page = await editor.another();
  const second = await Panel.open(editor, page);
  await second.answer("Said to the first window.").waitFor();
  await second.frame.getByText("This session is in use in another window").waitFor();
  assert.equal(await second.prompt.isDisabled(), true);
  assert.equal(await second.frame.locator(".notice.error").count(), 0);
  assert.equal(
    await second.frame.getByRole("button", { name: /^(Edit|Ask|Answer Again|Rewind|Pin|Exclude|Fork)/ }).count(),
    0,
    "it is only read",
  );
  await editor.shoot("windows-1-follows", page);
  assert.equal(editor.sidecars().length, 2, "each window has a sidecar of its own");

  await editor.page.bringToFront();
  await first.ask("And now?");
  await first.answer("Said to it again.").waitFor();
  await page.bringToFront();
  await second.answer("Said to it again.").waitFor();

  await second.button("Take Over Here").click();
  await until(async () => !(await second.prompt.isDisabled()), "the second window writes");
  await second.ask("And here?");
  await second.answer("Said to the second one.").waitFor();
  await editor.shoot("windows-2-took-over", page);
  await editor.page.bringToFront();
  await first.answer("Said to the second one.").waitFor();
  await first.frame.getByText("This session is in use in another window").waitFor();
  await editor.shoot("windows-3-first");
});
