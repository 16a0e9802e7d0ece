// What a command printed, as text.

import assert from "node:assert/strict";
import { test } from "node:test";
import { endOf, lastCharacters, terminalText } from "../../src/shared/terminal-text.ts";
import { visible } from "../../src/shared/visible.ts";

test("sequences for looks are taken out, and no words with them", () => {
  assert.equal(terminalText("\u001b[1;31merror\u001b[0m: no\u001b[K\n\u001b[2Aup\n\n"), "error: no\nup");
  assert.equal(terminalText("\u001b[8mhidden\u001b[28m"), "hidden", "what a terminal would conceal is read");
  // One with words in it stays, and is marked where it is shown.
  const titled = terminalText("\u001b]0;a title\u0007text");
  assert.equal(visible(titled), "[U+001B]]0;a title[U+0007]text");
});

test("what a terminal would overwrite is a line of its own", () => {
  assert.equal(terminalText("10%\r20%\r\ndone\r\n"), "10%\n20%\ndone");
});

test("the end of a text has whole lines where one fits, and no half of a character", () => {
  assert.equal(endOf("a\nb\nc", 2, 100), "b\nc");
  assert.equal(endOf("a\nb", 8, 100), "a\nb");
  assert.equal(endOf("aaaa\nbbbb\ncc", 8, 6), "cc");
  assert.equal(endOf("x".repeat(50), 8, 6), "xxxxxx");
  assert.equal(lastCharacters("a😀b", 2), "b");
  assert.equal(lastCharacters("😀b", 3), "😀b");
});
