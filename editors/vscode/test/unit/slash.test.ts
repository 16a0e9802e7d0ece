// Commands behind a slash: what is one, and what is a text that begins with a slash.

import assert from "node:assert/strict";
import { test } from "node:test";
import { promptOf, promptsFor, SLASH, slashesFor, slashOf } from "../../src/shared/slash.ts";

test("a text is a command only where it is one whole", () => {
  assert.deepEqual(slashOf("/compact"), { name: "compact", rest: "" });
  assert.deepEqual(slashOf(" /compact  the parser,\nnot the lexer "), { name: "compact", rest: "the parser,\nnot the lexer" });
  assert.deepEqual(slashOf("/undo"), { name: "undo", rest: "" });
  for (const text of ["/undo what you did", "/usr/bin/env is missing", "/", "/compactly", "see /compact", "/Compact", ""]) {
    assert.equal(slashOf(text), undefined, text);
  }
});

test("the menu offers what a beginning may become", () => {
  const names = (text: string): string[] => slashesFor(text).map(({ name }) => name);
  assert.equal(slashesFor("/").length, SLASH.length);
  assert.deepEqual(names("/co"), ["compact", "cost"]);
  assert.deepEqual(names("/compact"), ["compact"]);
  for (const text of ["/compact ", "/x", "co", " /co", ""]) assert.deepEqual(names(text), [], text);
});

test("prompts of the workspace are asked for by their names, behind the commands", () => {
  const prompts = ["review", "undo", "release.notes"].map((name) => ({ name, about: name }));
  assert.deepEqual(promptOf("/review", prompts), { name: "review", rest: "" });
  assert.deepEqual(promptOf(" /release.notes since  May \n", prompts), { name: "release.notes", rest: "since  May" });
  for (const text of ["/reviews", "/undo", "see /review", "/", ""]) assert.equal(promptOf(text, prompts), undefined, text);
  const offered = (text: string) => promptsFor(text, prompts).map(({ name }) => name);
  assert.deepEqual(offered("/Re"), ["review", "release.notes"]);
  assert.deepEqual(offered("/review it"), []);
  const ofServer = [{ name: "table:greet", about: "" }];
  for (const [text, count] of [
    ["/gr", 1],
    ["/TABLE", 1],
    ["/table:g", 1],
    ["/reet", 0],
  ] as const) {
    assert.equal(promptsFor(text, ofServer).length, count, text);
  }
});
