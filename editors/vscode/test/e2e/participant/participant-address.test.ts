// @threadhold in an editor that tells no address of a chat, as older ones: the session is found by what the editor persisted
// with its answers. With an address, participant.test.ts.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ChatView } from "../../support/chatview.ts";
import { Editor } from "../../support/editor.ts";
import { FOUR, READING } from "../../support/files.ts";
import { Probe } from "../../support/probe.ts";
import { PACKAGES, SCRIPTED } from "../../support/settings.ts";
import { sessionsOf } from "../../support/sidecar.ts";

test("two turns, an overflow, a restart: the third turn has the same bytes, in the one session that there is", async () => {
  using probe = new Probe({
    window: 20_000,
    answers: [...READING, { say: "I still know all of it." }],
  });
  await using editor = await Editor.start({
    variant: "withoutAddress",
    extensions: PACKAGES,
    files: FOUR,
    environment: { PROBE: probe.folder },
    settings: { ...SCRIPTED, "threadhold.sidecarSettings": { limitHistory: "off", triggers: { background: false, preTurnTokens: false } } },
  });
  let chat = await ChatView.open(editor);
  await chat.ask("@threadhold Read the first file.", "One is read.");
  await chat.ask("@threadhold Read the others.", "All four are read.");
  const before = probe.asked.at(-1);
  assert.match(JSON.stringify(before?.messages), /conversation-summary/);
  assert.equal(probe.asked.filter(({ summary }) => summary).length, 1);
  await chat.ask("@other Look.", "I looked at it.");
  await chat.stored("I looked at it.");
  const [given] = probe.given;
  assert.ok(given !== undefined);
  assert.ok(given.request.includes("prompt") && !given.request.includes("sessionResource"), "a request has no address");
  assert.ok(!given.context.includes("chatSessionContext"), "nor has its context");

  await editor.down();
  await editor.up();
  chat = await ChatView.openFromList(editor, "Read the first file");
  await chat.ask("@threadhold What do you know?", "I still know all of it.");
  await editor.shoot("participant-address-1-after-restart");
  assert.deepEqual(probe.asked.at(-1)?.messages, [
    ...(before?.messages ?? []),
    { role: "Assistant", parts: [{ text: "All four are read." }] },
    { role: "User", parts: [{ text: "What do you know?" }] },
  ]);
  assert.equal(probe.asked.filter(({ summary }) => summary).length, 1, "no second summary was made");
  await editor.down();
  assert.equal((await sessionsOf(editor.folder, editor.environment)).length, 1, "each turn found the session of the one before");
});
