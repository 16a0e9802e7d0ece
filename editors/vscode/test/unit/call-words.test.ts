// What calls do, in words.

import assert from "node:assert/strict";
import { test } from "node:test";
import { callWords, nameInWords, phrasesFor } from "../../src/panel/call-words.ts";
import type { CallState, Phrase } from "../../src/shared/view.ts";

/** The words, with code between backticks. */
const said = (phrases: readonly Phrase[]): string => phrases.map(({ text, isCode }) => (isCode === true ? `\`${text}\`` : text)).join("");
const told = (name: string, given: object | string): string[] => {
  const { present, past } = callWords(name, typeof given === "string" ? given : JSON.stringify(given));
  return [said(present), said(past)];
};

test("a call of the extension's own tools is told in words", () => {
  const read = (given: object) => told("read_file", { path: "src/a.rs", ...given })[1];
  assert.equal(read({}), "Read src/a.rs");
  assert.equal(read({ startLine: 1, endLine: 40 }), "Read src/a.rs, lines 1-40");
  assert.equal(read({ startLine: 7, endLine: 7 }), "Read src/a.rs, line 7");
  assert.equal(read({ startLine: 7 }), "Read src/a.rs, from line 7");
  assert.equal(read({ endLine: 7 }), "Read src/a.rs, lines 1-7");
  assert.deepEqual(told("list_files", {}), ["List files", "Listed files"]);
  assert.deepEqual(told("list_files", { pattern: "**/*.rs" }), ["List files matching `**/*.rs`", "Listed files matching `**/*.rs`"]);
  assert.deepEqual(told("search_text", { query: "x", include: "src" }), ["Search for `x` in src", "Searched for `x` in src"]);
  assert.equal(told("search_text", { query: "a+", isRegex: true })[1], "Searched for `a+` (regular expression)");
  assert.deepEqual(told("edit_file", { path: "a.rs", old: "1", new: "2" }), ["Edit a.rs", "Edited a.rs"]);
  assert.deepEqual(told("write_file", { path: "a.rs", text: "" }), ["Write a.rs", "Wrote a.rs"]);
  assert.deepEqual(told("run_command", { command: "cargo test" }), ["Run `cargo test`", "Ran `cargo test`"]);
  assert.equal(told("run_command", { command: "make", folder: "sub" })[1], "Ran `make` in sub");
});

test("arguments that are missing, not whole or of another kind are told as they are", () => {
  assert.deepEqual(told("read_file", {}), ["Read a file", "Read a file"]);
  assert.equal(told("run_command", '{"command":"car')[0], 'Run a command `{"command":"car`');
  assert.equal(told("edit_file", { path: 7, old: "x" })[0], "Edit a file `x`");
  assert.equal(told("search_text", "[1]")[0], "Search files `[1]`");
});

test("a call of any other tool is told by its name and main argument", () => {
  assert.equal(told("probe_read", { purpose: "why", path: "a.rs" })[0], "Probe read `a.rs`");
  assert.equal(told("Bash", { description: "Lists", command: "ls" })[0], "Bash `ls`");
  assert.equal(told("ask", { count: 1 })[0], "Ask");
  assert.equal(nameInWords("mcp__github__createIssue"), "Mcp github create issue");
  assert.equal(nameInWords("getHTTPStatus"), "Get HTTP status");
  assert.equal(nameInWords("__"), "__");
});

test("what cannot be seen is named, and what is long is cut off", () => {
  assert.equal(told("run_command", { command: "ls\u202e\nrm x" })[0], "Run `ls[U+202E] ⏎ rm x`");
  assert.equal(told("read_file", { path: "a\u200b" })[0], "Read a[U+200B]");
  assert.ok(said(callWords("run_command", JSON.stringify({ command: "x".repeat(5_000) })).past).length < 220);
});

test("the words do not say that something was done before it was", () => {
  const words = callWords("run_command", '{"command":"make"}');
  const at = (state: CallState, exitCode?: number): string => said(phrasesFor(words, state, exitCode));
  for (const state of ["writing", "waiting", "running", "rejected", "cancelled"] as const) assert.equal(at(state), "Run `make`", state);
  for (const state of ["asked", "open"] as const) assert.equal(at(state), "Run a command", state);
  assert.equal(at("done", 0), "Ran `make`");
  assert.equal(at("failed", 2), "Ran `make`");
  assert.equal(at("failed"), "Run `make`", "it may never have begun");
});
