// The editor of these tests gives an extension what a user's VS Code gives it, and no proposed API: otherwise whatever is
// shown by them might hold here alone.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ChatView } from "../../support/chatview.ts";
import { Editor } from "../../support/editor.ts";
import { Probe } from "../../support/probe.ts";
import { PACKAGES, SCRIPTED } from "../../support/settings.ts";

/** Members of a request that only proposed API has. */
const GATED = [
  ...[
    "id",
    "attempt",
    "enableCommandDetection",
    "isParticipantDetected",
    "location",
    "location2",
    "editedFileEvents",
    "sessionId",
    "hasHooksEnabled",
  ],
  ...["acceptedConfirmationData", "rejectedConfirmationData", "tools"],
];

test("a request to a participant has what is stable, and nothing that is proposed", async () => {
  using probe = new Probe({ answers: [] });
  await using editor = await Editor.start({ extensions: PACKAGES, settings: SCRIPTED, environment: { PROBE: probe.folder } });
  const extensions = join(editor.root, "extensions");
  const manifests = readdirSync(extensions).filter((name) => name.startsWith("threadhold."));
  assert.equal(manifests.length, 2);
  for (const name of manifests) {
    assert.ok(
      !readFileSync(join(extensions, name, "package.json"), "utf8").includes("enabledApiProposals"),
      `${name} asks for no proposal`,
    );
  }
  const chat = await ChatView.open(editor);
  await chat.ask("@other Look.", "I looked at it.");
  const [given] = probe.given;
  for (const name of ["prompt", "references", "toolReferences", "toolInvocationToken", "model", "sessionResource"]) {
    assert.ok(given?.request.includes(name), `a request has ${name}`);
  }
  assert.deepEqual(
    GATED.filter((name) => given?.request.includes(name)),
    [],
  );
});
