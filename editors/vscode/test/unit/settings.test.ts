// Scopes of the settings: a folder brings its own `.vscode/settings.json`, so each scope says if the folder is obeyed. The
// end-to-end tests check that the editor goes by it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { capabilities, settings } from "../support/manifest.ts";

/** Scopes that the editor reads from the user alone. */
const OF_THE_USER = new Set(["application", "machine"]);

/** All that a folder may set. Nothing here allows, redirects, instructs, hides or deletes anything. */
const OF_A_WORKSPACE = ["threadhold.warnBeforeCompaction"];

test("a workspace may set what is listed and nothing else", () => {
  assert.ok(settings.length >= 19, `${settings.length} settings`);
  const open = settings.filter(([, { scope }]) => !OF_THE_USER.has(scope ?? "window")).map(([name]) => name);
  assert.deepEqual(open, OF_A_WORKSPACE);
});

test("the extension does not start in an untrusted workspace", () => {
  assert.equal(capabilities.untrustedWorkspaces.supported, false);
});
