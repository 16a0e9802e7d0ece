// Several commands on one terminal: whole, one after the other.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Screens } from "../../src/tools/screens.ts";

test("commands that run at once are shown one after the other", () => {
  let shown = "";
  const screens = new Screens((text) => {
    shown += text;
  });
  const one = screens.begin("$ one\n");
  const two = screens.begin("$ two\n");
  const three = screens.begin("$ three\n");
  two.write("2\n");
  one.write("1\n");
  two.end("[2]\n");
  assert.equal(shown, "$ one\n1\n");
  three.write("3\n");
  one.end("[1]\n");
  assert.equal(shown, "$ one\n1\n[1]\n$ two\n2\n[2]\n$ three\n3\n");
  three.write("more\n");
  // What a command left running goes on behind its end.
  two.write("late\n");
  three.end("[3]\n");
  const four = screens.begin("$ four\n");
  four.end("[4]\n");
  assert.equal(shown, "$ one\n1\n[1]\n$ two\n2\n[2]\n$ three\n3\nmore\nlate\n[3]\n$ four\n[4]\n");
});

test("of a command that waits for the screen, the last output is kept", () => {
  let shown = "";
  const screens = new Screens((text) => {
    shown += text;
  });
  const one = screens.begin("");
  const two = screens.begin("$ two\n");
  for (let count = 0; count < 300; count += 1) two.write("x".repeat(1_000));
  one.end("");
  assert.equal(shown, "x".repeat(200_000));
});
