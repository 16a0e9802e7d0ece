// Calls that a restart leaves open: of the editor, where the user runs them again or goes on without them; of the sidecar,
// where they go on. And what was allowed for good, taken back.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Editor, until } from "../../support/editor.ts";
import { Panel } from "../../support/panel.ts";
import { Probe } from "../../support/probe.ts";
import { RulesPage } from "../../support/rules.ts";
import { PACKAGES, SCRIPTED } from "../../support/settings.ts";

/** Runs until the file `go` is there. */
const COMMAND = "until [ -e go ]; do sleep 0.2; done; echo it went";
const run = (id: string) => ({ id, name: "run_command", input: { command: COMMAND } });
const write = (id: string) => ({ id, name: "write_file", input: { path: `${id}.txt`, text: "written\n" } });

test("calls that a restart left open are run again or abandoned; what is always allowed is taken back", async () => {
  using probe = new Probe({
    answers: [
      { say: "I run it twice.", calls: [run("c1"), run("c2")] },
      { say: "One of them went." },
      { say: "I run it once more.", calls: [run("c3")] },
      { say: "It went too." },
      { say: "I write.", calls: [write("w1")] },
      { say: "Written once." },
      { say: "I write.", calls: [write("w2")] },
      { say: "Written twice." },
      { say: "I write.", calls: [write("w3")] },
      { say: "Written three times." },
    ],
  });
  await using editor = await Editor.start({
    extensions: PACKAGES,
    settings: { ...SCRIPTED, "threadhold.approve.run": "allow" },
    environment: { PROBE: probe.folder },
  });
  let panel = await Panel.open(editor);

  // The whole editor is restarted while commands run. They end with it, and are not run again by themselves.
  await panel.ask("Run it.");
  const stands = (which: number, words: string) =>
    until(async () => (await panel.call("run_command").nth(which).textContent())?.includes(words) ?? false, `call ${which} is ${words}`);
  await stands(0, "running");
  await until(() => editor.commands().length > 0, "commands run in the folder");
  await editor.down();
  await until(() => editor.commands().length === 0, "none runs any more");
  await editor.up();
  panel = await Panel.open(editor);
  await stands(0, "not finished");
  await stands(1, "not finished");
  await editor.shoot("calls-1-open");
  editor.write("go", "");
  assert.equal(probe.asked.length, 1, "nothing goes on by itself");
  const [again, without] = [panel.call("run_command").nth(0), panel.call("run_command").nth(1)];
  await again.getByRole("button", { name: "Run Again" }).click();
  await stands(0, "done");
  await without.getByRole("button", { name: "Continue Without It" }).click();
  await panel.answer("One of them went.").waitFor();
  const told = JSON.stringify(probe.asked.at(-1)?.messages);
  assert.match(told, /it went/);
  assert.match(told, /Whether it completed is unknown/);
  await editor.shoot("calls-2-decided");

  // The sidecar alone is killed while a command runs: the command goes on, and its result is brought to the next one.
  editor.erase("go");
  await panel.ask("Run it once more.");
  await stands(2, "running");
  const [killed = 0] = editor.sidecars();
  process.kill(killed, "SIGKILL");
  await until(() => editor.sidecars().length === 1 && editor.sidecars()[0] !== killed, "another sidecar runs");
  await stands(2, "running");
  editor.write("go", "");
  await panel.answer("It went too.").waitFor();
  await editor.shoot("calls-3-brought");

  // Always allowed: the next one does not ask. Taken back: the one after it does.
  await panel.ask("Write.");
  await panel.decideForLater("Always Allow write_file");
  await panel.answer("Written once.").waitFor();
  await panel.ask("Write.");
  await panel.answer("Written twice.").waitFor();
  const rules = await RulesPage.open(editor);
  const rule = rules.rules("Folder", "Always allowed: write_file · All calls");
  await rule.waitFor();
  await editor.shoot("calls-4-allowed");
  await rules.remove(rule);
  await panel.ask("Write.");
  await panel.frame.getByText("Approval required").waitFor();
  await panel.button("Allow").click();
  await panel.answer("Written three times.").waitFor();
  assert.equal(await rules.rules("Folder").count(), 0);
});
