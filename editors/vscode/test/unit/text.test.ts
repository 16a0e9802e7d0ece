// Words of others in the editor's own notifications and lists, which read some of them as links and pictures.

import assert from "node:assert/strict";
import { test } from "node:test";
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
