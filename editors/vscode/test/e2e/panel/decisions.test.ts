// What the user decides while the agent works: calls allowed, rejected with words, always allowed, always rejected; an answer
// stopped, a question that waits taken back, one asked in another's place, sessions branched, found, renamed, deleted.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Editor, until } from "../../support/editor.ts";
import { Panel } from "../../support/panel.ts";
import { Probe } from "../../support/probe.ts";
import { RulesPage } from "../../support/rules.ts";
import { PACKAGES, SCRIPTED } from "../../support/settings.ts";

const run = (id: string) => ({ id, name: "run_command", input: { command: "echo it runs; exit 3" } });
const make = (id: string) => ({ id, name: "run_command", input: { command: "touch made.txt" } });
const edit = (id: string) => ({ id, name: "edit_file", input: { path: "a.txt", old: "hello", new: "goodbye" } });

test("calls are allowed, rejected with words, always allowed, and always rejected", async () => {
  using probe = new Probe({
    answers: [
      { say: "I change it and look.", calls: [edit("c1"), run("c2")] },
      { say: "As you wish." },
      { calls: [edit("c3"), run("c4")] },
      { say: "Changed, and looked again." },
      { calls: [make("c5")] },
      { say: "Not made." },
      { calls: [make("c6")] },
      { say: "Not made again." },
      { calls: [make("c7")] },
      { say: "Made at last." },
    ],
  });
  await using editor = await Editor.start({
    extensions: PACKAGES,
    files: { "a.txt": "hello\n" },
    settings: SCRIPTED,
    environment: { PROBE: probe.folder },
  });
  const panel = await Panel.open(editor);
  await panel.ask("Say goodbye in a.txt.");
  await panel.frame.getByText("2 calls require approval").waitFor();
  await editor.shoot("decisions-1-asked");
  await panel.write(panel.call("edit_file").getByRole("button", { name: "Reject…" }), "Keep it polite.");
  await editor.page.keyboard.press("Enter");
  await panel.frame.getByText("Approval required").waitFor();
  assert.equal(probe.asked.length, 1, "nothing of the round runs before all is decided");
  await panel.decideForLater("Always Allow This Command");
  await panel.answer("As you wish.").waitFor();
  assert.equal(editor.read("a.txt"), "hello\n");
  assert.match(JSON.stringify(probe.asked[1]), /rejected by the user\] Keep it polite\./);
  assert.match(JSON.stringify(probe.asked[1]), /it runs/);
  assert.match((await panel.call("edit_file").textContent()) ?? "", /rejected by you/);
  assert.match((await panel.call("run_command").textContent()) ?? "", /exit code 3 in /);
  await panel.call("run_command").locator("summary").click();
  await panel.call("run_command").getByText("it runs").last().waitFor();
  assert.equal(await editor.page.locator(".terminal.xterm").count(), 0, "no terminal comes up by itself");
  await editor.command("threadhold: Show Agent Terminal");
  const terminal = editor.page.locator(".terminal.xterm .xterm-rows");
  await until(
    async () => /it\sruns.*\[exit\scode\s3\]/s.test((await terminal.textContent()) ?? ""),
    "the terminal shows the command's end",
  );
  await editor.shoot("decisions-2-rejected");

  await panel.ask("Then do it, and look.");
  // The command was allowed for good, so only the edit waits.
  await panel.call("edit_file").last().getByRole("button", { name: "Allow", exact: true }).click();
  await panel.answer("Changed, and looked again.").waitFor();
  assert.equal(editor.read("a.txt"), "goodbye\n");
  await editor.shoot("decisions-3-allowed");

  await panel.ask("Make a file.");
  await panel.frame.getByText("Later Calls", { exact: true }).click();
  await panel.button("Always Reject This Command").waitFor();
  await editor.shoot("decisions-3-always-reject");
  await panel.button("Always Reject This Command").click();
  await panel.answer("Not made.").waitFor();
  await panel.ask("Make it now.");
  // No question: the answer follows the same call by itself.
  await panel.answer("Not made again.").waitFor();
  assert.equal(probe.asked.length, 8);
  assert.match(JSON.stringify(probe.asked[7]?.messages.at(-1)), /rejected by the user\] Such calls are always rejected\./);
  assert.match((await panel.call("touch made.txt").last().textContent()) ?? "", /rejected by you/);
  assert.ok(!existsSync(join(editor.folder, "made.txt")), "it never ran");

  const rules = await RulesPage.open(editor);
  await rules.rules("Folder", "Always allowed:").filter({ hasText: "echo it runs; exit 3" }).waitFor();
  const rejected = rules.rules("Folder", "Always rejected:").filter({ hasText: "touch made.txt" });
  await rejected.waitFor();
  await editor.shoot("decisions-3-listed");
  await rules.remove(rejected);
  await panel.ask("Please make it.");
  await panel.button("Allow").click();
  await panel.answer("Made at last.").waitFor();
  assert.ok(existsSync(join(editor.folder, "made.txt")), "it was asked about again");
});

test("an answer is stopped, a waiting question is taken back, an earlier one is asked otherwise", async () => {
  using probe = new Probe({
    answers: [
      { say: "This goes on ", holdWhile: "held", then: "for long." },
      { say: "The second is answered." },
      { say: "The other first is answered." },
      { say: "From the branch." },
    ],
  });
  await using editor = await Editor.start({ extensions: PACKAGES, settings: SCRIPTED, environment: { PROBE: probe.folder } });
  const panel = await Panel.open(editor);
  probe.hold("held");
  await panel.ask("The first question");
  await panel.answer("This goes on").waitFor();
  await panel.ask("The second question");
  await panel.ask("The third question");
  const waiting = panel.frame.getByRole("list", { name: "Queued messages" }).getByRole("listitem");
  await until(async () => (await waiting.count()) === 2, "two questions wait");
  await editor.shoot("decisions-4-waiting");
  await waiting.last().getByRole("button").click();
  await until(async () => (await waiting.count()) === 1, "one is taken back");
  await panel.button("Stop").click();
  await panel.answer("The second is answered.").waitFor();
  assert.match((await panel.answer("This goes on").textContent()) ?? "", /Stopped by you/);
  assert.equal(await panel.frame.locator(".row.user").filter({ hasText: "third" }).count(), 0);

  const first = panel.frame.locator(".row.user").first();
  await first.hover();
  await panel.write(first.getByRole("button", { name: "Edit and Ask Again" }), "The other first question");
  await editor.shoot("decisions-5-editing");
  await editor.page.keyboard.press("Control+Enter");
  await panel.answer("The other first is answered.").waitFor();
  assert.deepEqual(
    await panel.frame.locator(".row.user .words").allTextContents(),
    ["The other first question"],
    "what followed is cut off",
  );

  const answer = panel.answer("The other first is answered.");
  await answer.hover();
  await answer.getByRole("button", { name: "Fork from Here" }).click();
  await panel.frame.getByText("This session is a fork.").waitFor();
  await panel.ask("On the branch");
  await panel.answer("From the branch.").waitFor();

  await panel.button("Show Sessions").click();
  const sessions = panel.frame.locator(".sessions li");
  await until(async () => (await sessions.count()) === 2, "the session and its fork are listed; what was cut off is a version");
  await editor.shoot("decisions-6-sessions");
  await sessions.filter({ hasNotText: "fork" }).locator("button.open").click();
  // The fork has the same first answer: only its own one tells that it is not shown any more.
  await panel.answer("From the branch.").waitFor({ state: "detached" });
  await panel.answer("The other first is answered.").waitFor();
  await panel.restoreVersion(editor, "The first question");
  await panel.answer("The second is answered.").waitFor();

  // What was said is found, with the messages that say it, and opens there.
  await panel.button("Show Sessions").click();
  await panel.frame.getByRole("searchbox", { name: "Search sessions" }).fill("branch from");
  const hit = panel.frame.locator(".sessions button.hit");
  await until(
    async () => (await hit.allTextContents()).join("|") === "Agent: From the branch.|You: On the branch",
    "the fork is found by its answer",
  );
  assert.equal((await panel.frame.locator(".sessions mark").allTextContents()).join("|"), "From|branch|branch");
  await editor.shoot("decisions-7-found");
  await hit.first().click();
  await panel.answer("From the branch.").waitFor();
  await panel.button("Show Sessions").click();
  await panel.frame.getByRole("searchbox", { name: "Search sessions" }).fill("");
  await until(async () => (await sessions.count()) > 1, "all sessions are listed");
  await sessions.filter({ hasNotText: "fork" }).locator("button.open").click();
  await panel.answer("The second is answered.").waitFor();

  await editor.command("threadhold: Rename Session");
  await editor.page.locator(".quick-input-widget input").fill("What was cut off");
  await editor.page.keyboard.press("Enter");
  await until(async () => (await panel.frame.locator("h1").textContent()) === "What was cut off", "the session has its new name");
  await panel.button("Show Sessions").click();
  await panel.frame.getByRole("searchbox", { name: "Search sessions" }).fill("cut off");
  await until(async () => (await sessions.count()) === 1, "one session has these words");
  await sessions
    .first()
    .getByRole("button", { name: /^Delete/ })
    .click();
  await editor.page.locator(".monaco-dialog-box").getByText("Delete “What was cut off”?").waitFor();
  await editor.shoot("decisions-8-delete");
  await editor.page.locator(".monaco-dialog-box").getByRole("button", { name: "Delete" }).click();
  await panel.frame.getByText("No sessions match.").waitFor();
});
