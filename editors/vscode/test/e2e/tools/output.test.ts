// What a command prints is in its row while it runs; it is stopped there, and the turn goes on. One terminal has all commands, and comes up only when it is asked for.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Editor, until } from "../../support/editor.ts";
import { Panel } from "../../support/panel.ts";
import { Probe } from "../../support/probe.ts";
import { PACKAGES, SCRIPTED } from "../../support/settings.ts";

const COUNT = "for i in $(seq 1 20); do echo line $i; done; until [ -e go ]; do sleep 0.2; done; echo behind; exit 3";
const ENDLESS = "echo begun; while :; do sleep 0.2; done";

test("the output of a command is in its row while it runs", async () => {
  const run = (id: string, command: string) => ({ id, name: "run_command", input: { command } });
  using probe = new Probe({
    answers: [
      { say: "I run two.", calls: [run("c1", COUNT), run("c2", "echo second")] },
      { say: "Both went." },
      { say: "I run for ever.", calls: [run("c3", ENDLESS)] },
      { say: "It was stopped." },
    ],
  });
  await using editor = await Editor.start({
    extensions: PACKAGES,
    shared: true,
    settings: { ...SCRIPTED, "threadhold.approve.run": "allow", "workbench.colorTheme": "Default Dark Modern" },
    environment: { PROBE: probe.folder },
  });
  const panel = await Panel.open(editor);
  await panel.ask("Run two.");
  const row = panel.call("run_command").first();
  const output = row.getByRole("group", { name: "Output so far" });
  await output.getByText("line 20").waitFor();
  assert.equal(await output.textContent(), Array.from({ length: 8 }, (_, line) => `line ${13 + line}`).join("\n"), "long output is folded");
  assert.match((await row.textContent()) ?? "", /running/);
  await editor.shoot("output-1-running");
  assert.equal(await editor.page.locator(".terminal.xterm").count(), 0, "no terminal comes up by itself");

  await row.getByRole("button", { name: "Show Terminal" }).click();
  const terminal = editor.page.locator(".terminal.xterm .xterm-rows");
  await until(async () => /line\s20/.test((await terminal.textContent()) ?? ""), "the terminal shows the command");
  editor.write("go", "");
  await panel.answer("Both went.").waitFor();
  await row.getByText("behind").last().waitFor();
  assert.match((await row.textContent()) ?? "", /exit code 3 in /);
  assert.equal(await row.getByRole("button", { name: "Stop Command" }).count(), 0);
  await row.getByRole("button", { name: "Show All 21 Lines" }).waitFor();
  const shown = async (): Promise<string> => ((await terminal.textContent()) ?? "").replaceAll(/\s/g, " ");
  // Whichever began first: the one that began later waits for its end.
  const second = "\\$ echo second *second *\\[exit code 0\\]";
  const isShown = async (scrolled: number, order: RegExp): Promise<boolean> => {
    // The layers of the terminal lie over each other.
    await terminal.hover({ force: true });
    await editor.page.mouse.wheel(0, scrolled);
    return order.test(await shown());
  };
  await until(
    async () =>
      (await isShown(10_000, new RegExp(`behind *\\[exit code 3\\] *${second}`))) ||
      (await isShown(-10_000, new RegExp(`${second} *\\$ for i in`))),
    "both are there, whole",
  );
  assert.equal(await editor.page.locator(".terminal.xterm").count(), 1, "one terminal has both");
  await editor.shoot("output-2-ended");

  await panel.ask("Run for ever.");
  const endless = panel.call("run_command").last();
  await endless.getByRole("group", { name: "Output so far" }).getByText("begun").waitFor();
  await endless.getByRole("button", { name: "Stop Command" }).click();
  await panel.answer("It was stopped.").waitFor();
  assert.match(JSON.stringify(probe.asked.at(-1)?.messages), /begun\\n\\nTerminated by SIGTERM\.\\nStopped by the user\./);
  await editor.change(
    { ...SCRIPTED, "threadhold.approve.run": "allow", "workbench.colorTheme": "Default Light Modern" },
    panel.frame.locator("body.vscode-light").waitFor(),
  );
  await editor.shoot("output-3-stopped");
});
