// Modes of the panel and the agent's todos: a plan is made without a change, accepted, and carried out.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Asked } from "../../extension/src/script.ts";
import { Editor } from "../../support/editor.ts";
import { Panel } from "../../support/panel.ts";
import { Probe } from "../../support/probe.ts";
import { PACKAGES, SCRIPTED } from "../../support/settings.ts";

const PLANNING = "The user wants a plan";
const ALLOWED = "Edits and commands are allowed again";

/** How often the prompt of a request has these words. */
const times = ({ messages }: Asked, words: string): number => JSON.stringify(messages).split(words).length - 1;

async function choose(editor: Editor, panel: Panel, mode: string): Promise<void> {
  await panel.button(/^Mode: /).click();
  await editor.page.locator(".quick-input-list .monaco-list-row").filter({ hasText: mode }).first().click();
  await panel.button(`Mode: ${mode}. Choose Mode…`).waitFor();
}

test("a plan changes nothing until it is accepted, and its steps stand above the prompt", async () => {
  const write = (id: string) => ({ id, name: "write_file", input: { path: "made.txt", text: "made\n" } });
  const todo = (id: string, input: object) => ({ id, name: "todo", input });
  const steps = [
    { content: "Write the file", status: "inProgress" },
    { content: "Check it", status: "pending" },
  ];
  using probe = new Probe({
    window: 64_000,
    answers: [
      { say: "I begin at once.", calls: [write("early")] },
      { say: "First write made.txt, then check it." },
      { say: "I do it.", calls: [todo("begin", { todos: steps })] },
      { say: "The file.", calls: [write("late")], holdWhile: "held" },
      {
        calls: [
          todo("end", {
            update: [
              { id: 1, status: "completed" },
              { id: 2, status: "completed" },
            ],
          }),
        ],
      },
      { say: "All is done." },
      { say: "Nothing else." },
    ],
  });
  probe.hold("held");
  await using editor = await Editor.start({
    extensions: PACKAGES,
    shared: true,
    settings: { ...SCRIPTED, "threadhold.approve.edit": "allow", "threadhold.tools.todo": true },
    environment: { PROBE: probe.folder },
  });
  const panel = await Panel.open(editor);
  await choose(editor, panel, "Plan");
  await panel.ask("How would you make it?");
  await panel.answer("First write made.txt").waitFor();
  assert.ok(!existsSync(join(editor.folder, "made.txt")), "nothing is changed in the mode Plan");
  assert.equal(times(probe.asked[0] as Asked, PLANNING), 1);
  await editor.shoot("modes-1-plan");

  // A plan is changed by words, and stays a plan; here it is accepted.
  await panel.button("Accept Plan").click();
  const strip = panel.frame.getByRole("region", { name: "Todo list" });
  await strip.getByRole("button", { name: "Todos 0 of 2 done. Next: Write the file" }).click();
  assert.deepEqual(await strip.getByRole("listitem").allTextContents(), ["Write the file", "Check it"]);
  await strip.getByRole("img", { name: "In progress" }).waitFor();
  await editor.shoot("modes-2-todos");
  await panel.button("Mode: Agent. Choose Mode…").waitFor();
  assert.equal(await panel.button("Accept Plan").count(), 0);

  probe.release("held");
  await panel.answer("All is done.").waitFor();
  assert.equal(editor.read("made.txt"), "made\n");
  await strip.waitFor({ state: "hidden" });
  assert.equal(times(probe.asked.at(-1) as Asked, ALLOWED), 1);

  await panel.ask("Anything else?");
  await panel.answer("Nothing else.").waitFor();
  assert.equal(times(probe.asked.at(-1) as Asked, ALLOWED), 1, "the usual mode is told once");
  const [first, last] = [probe.asked[0], probe.asked.at(-1)];
  assert.deepEqual(first?.tools, last?.tools, "a change of mode leaves the tools as they are");
});
