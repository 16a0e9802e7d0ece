// Mentions in the prompt: where one is being typed, what becomes of it, and which files are offered first.

import assert from "node:assert/strict";
import { test } from "node:test";
import { mentionAt, mentioned, ranked, textOfLines, toolAt, toolsNamedIn } from "../../src/shared/mention.ts";

test("a mention is typed behind an @ that begins a word", () => {
  const at = (text: string) => mentionAt(text, text.length);
  assert.deepEqual(at("@"), { from: 0, query: "" });
  assert.deepEqual(at("Look at @src/ma"), { from: 8, query: "src/ma" });
  assert.deepEqual(mentionAt("See @ma and more", 7), { from: 4, query: "ma" });
  for (const text of ["me@example.org", "@one two", "@@", "no mention", ""]) assert.equal(at(text), undefined, text);
});

test("a chosen name takes the place of what was typed", () => {
  const of = (text: string, cursor: number): string => {
    const mention = mentionAt(text, cursor);
    assert.ok(mention !== undefined);
    const made = mentioned(text, mention, "src/main.rs");
    return `${made.text.slice(0, made.cursor)}|${made.text.slice(made.cursor)}`;
  };
  assert.equal(of("See @ma", 7), "See @src/main.rs |");
  assert.equal(of("See @ma and more", 7), "See @src/main.rs |and more");
});

test("files whose name begins with the query come first, shorter paths before longer ones", () => {
  const paths = ["docs/domain.md", "src/main.rs", "main.py", "main/readme.md", "src/other.rs"];
  const found = ranked(
    "Main",
    paths.map((path) => ({ path })),
    3,
  ).map(({ path }) => path);
  assert.deepEqual(found, ["main.py", "src/main.rs", "docs/domain.md"]);
});

test("of many problems the first go along, and how many more there are", () => {
  const lines = (count: number): string[] => Array.from({ length: count }, (_, at) => `${at}`);
  assert.equal(textOfLines(lines(200)), lines(200).join("\n"));
  assert.equal(textOfLines(lines(203)), [...lines(200), "… and 3 more"].join("\n"));
});

test("a tool is named behind a # that begins a word", () => {
  const at = (text: string) => toolAt(text, text.length);
  assert.deepEqual(at("Use #read"), { from: 4, query: "read" });
  for (const text of ["a#b", "##", "# Heading", "#one two", ""]) assert.equal(at(text), undefined, text);
  const tool = at("Use #re");
  assert.ok(tool !== undefined);
  assert.deepEqual(mentioned("Use #re now", tool, "read_file"), { text: "Use #read_file now", cursor: 15 });
});

test("only tools that there are are named by a text, each once", () => {
  const known = new Set(["read_file", "run", "edit"]);
  assert.deepEqual(toolsNamedIn("#run and #read_file, then #run. Not x#edit, #runs or #12.", known), ["run", "read_file"]);
});
