// Invisible characters in a text are named, and everything else stays as it is.

import assert from "node:assert/strict";
import { test } from "node:test";
import { pieces, visible, visibleLine } from "../../src/shared/visible.ts";

test("text that can be seen stays as it is", () => {
  for (const text of ["", "echo tidy\n\techo 'grün 日本 🙂'\n\n\nשלום", "a  b", `${" ".repeat(40)}deep`, "\n\n\n"]) {
    assert.equal(visible(text), text);
  }
});

test("what cannot be seen is named by its code point", () => {
  const told: Record<string, string> = {
    "a\u202Eb\u202C": "a[U+202E]b[U+202C]",
    "\u2066a\u2069": "[U+2066]a[U+2069]",
    "a\rb": "a[U+000D]b",
    "\u001B[2J": "[U+001B][2J",
    "a\0b\u007F\u009B": "a[U+0000]b[U+007F U+009B]",
    "rm\u00A0-rf": "rm[U+00A0]-rf",
    "a\u2003b\u3000": "a[U+2003]b[U+3000]",
    "a\u2028b\u2029": "a[U+2028]b[U+2029]",
    "a\u200B\u200B\u200Db\u00AD\uFEFF": "a[U+200B×2 U+200D]b[U+00AD U+FEFF]",
    "a\u{E0041}\u{E0042}": "a[U+E0041 U+E0042]",
    "a\uFE0F\u{E0100}\u034F\u3164\u2800": "a[U+FE0F U+E0100 U+034F U+3164 U+2800]",
    "a\uD83Db\uE000": "a[U+D83D]b[U+E000]",
  };
  for (const [text, named] of Object.entries(told)) assert.equal(visible(text), named);
});

test("space that pushes the rest out of sight is counted", () => {
  assert.equal(visible(`a${" ".repeat(5000)}b`), "a[5,000 spaces]b");
  assert.equal(visible(`a${"\n".repeat(500)}b`), "a\n[499 empty lines]\nb");
  assert.equal(visible(`a${"\n  \t".repeat(20)}\nb`), "a\n[20 empty lines]\nb");
  assert.deepEqual(pieces(`a${" ".repeat(80)}`), [
    { text: "a", isUnseen: false },
    { text: "80 spaces", isUnseen: true },
  ]);
});

test("a line says where lines end, and that it was cut", () => {
  assert.equal(visibleLine("echo tidy\n  echo more\n", 200), "echo tidy ⏎ echo more");
  assert.equal(visibleLine("abcdef", 6), "abcdef");
  assert.equal(visibleLine("abcdefg", 6), "abcde…");
  assert.equal(visibleLine("a\u202Eb", 200), "a[U+202E]b");
});
