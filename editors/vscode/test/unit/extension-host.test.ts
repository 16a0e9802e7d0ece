// The editor's files are changed only where they read as they did when the change was written.

import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { edited, editorCopy } from "../support/extension-host.ts";

const edit = { file: "host.js", what: "the check", find: /(\w+)=!0/g, put: "$1=!1" };

test("a place that is there once is replaced; one that is not there, or twice, is refused in words", () => {
  assert.equal(edited("let a=!0;", [edit]), "let a=!1;");
  const words = (times: number): RegExp =>
    new RegExp(`^In host\\.js, the check was found ${times} times and not once\\..*extension-host\\.ts\\.$`);
  assert.throws(() => edited("let a=0;", [edit]), { message: words(0) });
  assert.throws(() => edited("a=!0,b=!0", [edit]), { message: words(2) });
});

/** As much of the editor as is changed, and a file that is not. */
const SHIPPED =
  "function Oe(i,t){return!0}" +
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the placeholder is part of the shipped text.
  "function M(i,t){if(!Oe(i,t))throw new Error(`Extension '${i.identifier.value}' CANNOT use API proposal: ${t}.`)}";
const FILES = {
  "api/node/extensionHostProcess.js":
    `${SHIPPED};g={sessionId:m,sessionResource:e.sessionResource,references:1};` +
    "S={history:u,chatSessionContext:b,get yieldRequested(){}}",
  "api/worker/extensionHostWorkerMain.js": SHIPPED,
  "../code/browser/workbench/workbench.js": `${SHIPPED};this._envEnablesProposedApiForAll=!0`,
  "other.js": "return!0",
};

test("what is installed stays as it is; a copy is made once for each variant, and goes with its installation", () => {
  const home = mkdtempSync(join(tmpdir(), "threadhold-installed-"));
  const place = (root: string, name: string): string => join(root, "node_modules/code-server/lib/vscode/out/vs/workbench", name);
  for (const [name, text] of Object.entries(FILES)) {
    mkdirSync(join(place(home, name), ".."), { recursive: true });
    writeFileSync(place(home, name), text);
  }
  writeFileSync(join(home, ".installed"), "one");
  const stable = editorCopy(home, "stable");
  const host = readFileSync(place(stable, "api/node/extensionHostProcess.js"), "utf8");
  assert.ok(host.includes("function Oe(i,t){return i.enabledApiProposals?.includes(t)??!1}") && host.includes("sessionResource:"), host);
  assert.ok(readFileSync(place(stable, "../code/browser/workbench/workbench.js"), "utf8").endsWith("ForAll=!1"));
  assert.equal(editorCopy(home, "stable"), stable);
  const withoutAddress = editorCopy(home, "withoutAddress");
  assert.notEqual(withoutAddress, stable);
  const other = readFileSync(place(withoutAddress, "api/node/extensionHostProcess.js"), "utf8");
  assert.match(other, /\{sessionId:m,references:1\};S=\{history:u,get yieldRequested/);
  for (const [name, text] of Object.entries(FILES))
    assert.equal(readFileSync(place(home, name), "utf8"), text, `${name} is as it was installed`);

  writeFileSync(join(home, ".installed"), "two");
  const next = editorCopy(home, "stable");
  assert.ok(!existsSync(stable) && !existsSync(withoutAddress), "what is no longer installed is not kept");
  assert.deepEqual(
    readdirSync(join(home, ".copies")).map((name) => join(home, ".copies", name)),
    [next],
  );
  rmSync(home, { recursive: true });
});
