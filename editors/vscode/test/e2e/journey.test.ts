// A session as a person has it, from the first question over a compaction, its undoing and a restart of the whole editor
// to the next question. The model is one of the editor's, and reads by a tool of the editor's.
// rows: V3 V4 V24 V26 V37 M1 N6

import assert from "node:assert/strict";
import { test } from "node:test";
import { Editor, until } from "../support/editor.ts";
import { Panel } from "../support/panel.ts";
import { PROBE, Probe } from "../support/probe.ts";

/** A file of about this many tokens. */
function long(name: string, tokens: number): string {
  const lines = [`// ${name}`];
  for (let line = 0; lines.length * 14 < tokens; line += 1) lines.push(`fn ${name}_${line}(input: &str) -> Option<Token> { scan(input, ${line}) }`);
  return `${lines.join("\n")}\n`;
}

const read = (id: string, path: string) => ({ id, name: "probe_read", input: { path } });

test("ask, read, compact, look, undo, restart, go on", async () => {
  using probe = new Probe({
    window: 24_000,
    answers: [
      { say: "I read the **lexer** first.", calls: [read("c1", "lexer.rs")] },
      { say: "Then the parser.", calls: [read("c2", "parser.rs")] },
      { say: "Both are read: the lexer scans, the parser waits." },
      { say: "The tests are missing." },
      { say: "After the undo I see it all." },
      { say: "I write it down.", calls: [{ id: "c3", name: "write_file", input: { path: "notes.md", text: "# Notes\n" } }] },
      { say: "The notes are there." },
    ],
  });
  await using editor = await Editor.start({
    extensions: ["dist/threadhold.vsix", PROBE],
    files: { "lexer.rs": long("lexer", 3_500), "parser.rs": long("parser", 3_500) },
    settings: { "threadhold.binary": process.env["THREADHOLD_BIN"], "threadhold.model": "probe/scripted", "threadhold.approve.editor": "allow" },
    environment: { PROBE: probe.folder },
  });
  let panel = await Panel.open(editor);
  await panel.ask("Read the lexer and the parser.");
  await panel.answer("Both are read").waitFor();
  assert.match((await panel.call("probe_read").first().textContent()) ?? "", /lexer\.rs.*done in/);
  await editor.shoot("journey-1-read");

  await panel.ask("What is missing?");
  await panel.answer("The tests are missing").waitFor();
  await panel.cards.first().waitFor();
  await editor.shoot("journey-2-compacted");
  const asked = probe.asked;
  assert.ok(asked.every(({ required }) => !required));
  console.log(asked.map(({ summary, messages, tools }) => [summary, messages.length, tools.length]));
});
