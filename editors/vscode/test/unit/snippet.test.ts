// Snippets of found texts: around the first word, with all words marked.

import assert from "node:assert/strict";
import { test } from "node:test";
import { snippetOf } from "../../src/shared/snippet.ts";

const marked = (text: string, query: string): string => {
  const { text: shown, marks } = snippetOf(text, query);
  let out = "";
  let at = 0;
  for (const [from, to] of marks) {
    out += `${shown.slice(at, from)}[${shown.slice(from, to)}]`;
    at = to;
  }
  return out + shown.slice(at);
};

test("a snippet shows the words that were found, in one line", () => {
  assert.equal(marked("The  parser\n drops a Token.", "token parser"), "The [parser] drops a [Token].");
  assert.equal(marked("a.b(c)", "a.b( ["), "[a.b(]c)");
  assert.equal(marked("nothing of it", "updatePending"), "nothing of it");
  assert.equal(marked("anything", " "), "anything");
});

test("a snippet of a long text begins before the first word", () => {
  const { text } = snippetOf(`${"before ".repeat(100)}needle ${"after ".repeat(100)}`, "needle");
  assert.match(text, /^…before before before before needle after .*…$/);
  assert.ok(text.length < 170, text);
});

test("a snippet divides no character", () => {
  for (let n = 0; n < 40; n++) {
    const { text } = snippetOf(`${"a".repeat(n)}${"😀".repeat(60)} needle ${"😀".repeat(100)}`, "needle");
    assert.ok(text.isWellFormed(), text);
  }
});
