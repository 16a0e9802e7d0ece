// Who may set what: a folder that is opened brings `.vscode/settings.json`, so each setting has a scope that says whether
// the folder is obeyed. That the editor goes by it is tested in the editor.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const { contributes, capabilities } = JSON.parse(readFileSync("package.json", "utf8")) as {
  contributes: { configuration: { properties: Record<string, { scope?: string }> }[] };
  capabilities: { untrustedWorkspaces: { supported: boolean } };
};

/** Scopes that the editor reads from the user alone. */
const OF_THE_USER = new Set(["application", "machine"]);

/** All that a folder may set. Nothing here allows, redirects, instructs, hides or deletes anything. */
const OF_A_WORKSPACE = ["threadhold.warnBeforeCompaction"];

test("a workspace may set what is listed and nothing else", () => {
  const settings = contributes.configuration.flatMap(({ properties }) => Object.entries(properties));
  assert.ok(settings.length >= 19, `${settings.length} settings`);
  const open = settings.filter(([, { scope }]) => !OF_THE_USER.has(scope ?? "window")).map(([name]) => name);
  assert.deepEqual(open, OF_A_WORKSPACE);
});

test("the extension does not start in an untrusted workspace", () => {
  assert.equal(capabilities.untrustedWorkspaces.supported, false);
});
