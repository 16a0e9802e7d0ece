// The editor's files are changed only where they read as they did when the change was written.

import assert from "node:assert/strict";
import { test } from "node:test";
import { edited } from "../support/extension-host.ts";

const edit = { file: "host.js", what: "the check", find: /(\w+)=!0/g, put: "$1=!1" };

test("a place that is there once is replaced; one that is not there, or twice, is refused in words", () => {
  assert.equal(edited("let a=!0;", [edit]), "let a=!1;");
  const words = (times: number): RegExp => new RegExp(`^In host\\.js, the check was found ${times} times and not once\\..*extension-host\\.ts\\.$`);
  assert.throws(() => edited("let a=0;", [edit]), { message: words(0) });
  assert.throws(() => edited("a=!0,b=!0", [edit]), { message: words(2) });
});
