// Words of others in the editor's own notifications and lists, which read some of them as links and pictures.

import assert from "node:assert/strict";
import { test } from "node:test";
import { beginningsIn } from "../../src/shared/beginning.ts";
import { escapeIcons, escapeLinks } from "../../src/shared/text.ts";

test("no link is made of the words of others", () => {
  assert.equal(
    escapeLinks("Ask [here](command:workbench.action.quit) or a[0](b)."),
    "Ask [here] (command:workbench.action.quit) or a[0] (b).",
  );
  assert.equal(escapeLinks("f(x) [y]"), "f(x) [y]");
});

test("a command in a list is no picture", () => {
  assert.equal(escapeIcons("echo $(trash) $HOME $$(a)"), "echo \\$(trash) $HOME $\\$(a)");
});

test("beginnings of commands are told from other patterns", () => {
  assert.equal(beginningsIn("command^=cargo test"), "`cargo test`");
  assert.equal(beginningsIn("command^=cd; cargo test; tail"), "`cd`, `cargo test` or `tail`");
  for (const other of ["command=git *", '={"command":"a^=b"}', "command=a^=b"]) assert.equal(beginningsIn(other), undefined, other);
});
