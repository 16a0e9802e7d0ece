// Failures of the sidecar: each shows a message that says what to do, and nothing is lost.

import assert from "node:assert/strict";
import { chmodSync, copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Editor, until } from "../../support/editor.ts";
import { Panel } from "../../support/panel.ts";
import { Probe } from "../../support/probe.ts";
import { PACKAGES, SCRIPTED } from "../../support/settings.ts";

/** Answers `initialize` as a sidecar that lacks what the panel needs. */
const TOO_OLD = `#!/usr/bin/env node
let bytes = Buffer.alloc(0);
process.stdin.on("data", (more) => {
  bytes = Buffer.concat([bytes, more]);
  const start = bytes.indexOf("{");
  if (start < 0) return;
  const { id, method } = JSON.parse(bytes.subarray(start, start + parseInt(bytes.subarray(16))).toString());
  if (method !== "initialize") return;
  const threadhold = { protocolVersion: 1, serverVersion: "0.0.1", levels: ["core"], methods: ["session/open"], events: [], states: [] };
  const body = JSON.stringify({ jsonrpc: "2.0", id, result: { capabilities: { experimental: { threadhold } } } });
  process.stdout.write("Content-Length: " + Buffer.byteLength(body) + "\\r\\n\\r\\n" + body);
});
process.stdin.on("end", () => process.exit(0));
`;

/**
 * Runs the sidecar and lists the methods that it is asked for in `methods`. Its answers wait from a `session/open` on while
 * `opening` is there; both files are in `folder`.
 */
const slowToOpen = (binary: string, folder: string): string => `#!/usr/bin/env node
const { spawn } = require("node:child_process");
const { appendFileSync, existsSync } = require("node:fs");
const folder = ${JSON.stringify(folder)};
const sidecar = spawn(${JSON.stringify(binary)}, process.argv.slice(2), { stdio: ["pipe", "pipe", "inherit"] });
const answers = [];
let opens = false;
process.stdin.on("data", (chunk) => {
  const methods = [...chunk.toString().matchAll(/"method":"([^"]+)"/g)].map(([, method]) => method + "\\n");
  appendFileSync(folder + "/methods", methods.join(""));
  opens ||= chunk.includes("session/open");
  sidecar.stdin.write(chunk);
});
process.stdin.on("end", () => sidecar.stdin.end());
sidecar.stdout.on("data", (chunk) => answers.push(chunk));
setInterval(() => {
  if (!opens || !existsSync(folder + "/opening")) for (const chunk of answers.splice(0)) process.stdout.write(chunk);
}, 10);
sidecar.on("exit", (code) => process.exit(code ?? 1));
`;

test("a program that is missing, not executable or too old; then the right one", async () => {
  using probe = new Probe({ answers: [{ say: "Here I am." }] });
  await using editor = await Editor.start({
    extensions: PACKAGES,
    settings: { ...SCRIPTED, "threadhold.binary": "/nowhere/threadhold" },
    environment: { PROBE: probe.folder },
  });
  const panel = await Panel.open(editor);
  const notice = await panel.error("The threadhold program was not found");
  assert.match((await notice.textContent()) ?? "", /\/nowhere\/threadhold does not exist.*Install threadhold, or set its path/s);
  assert.equal(await panel.prompt.isDisabled(), true);
  await editor.shoot("failures-1-missing");

  const locked = join(editor.root, "locked");
  copyFileSync(process.env["THREADHOLD_BIN"] ?? "", locked);
  chmodSync(locked, 0o644);
  const refused = panel.error("The threadhold program is not executable");
  await editor.change({ ...SCRIPTED, "threadhold.binary": locked }, refused);
  assert.match((await notice.textContent()) ?? "", /chmod \+x/);
  await editor.shoot("failures-2-locked");

  const old = join(editor.root, "old");
  writeFileSync(old, TOO_OLD, { mode: 0o755 });
  await editor.change({ ...SCRIPTED, "threadhold.binary": old }, panel.error("The threadhold program is too old"));
  await editor.shoot("failures-3-old");

  await editor.change(SCRIPTED, notice.waitFor({ state: "detached" }));
  await panel.ask("Are you there?");
  await panel.answer("Here I am.").waitFor();
});

test("the sidecar is killed in the middle of an answer", async () => {
  using probe = new Probe({
    answers: [
      { say: "The first answer is whole." },
      { say: "This one begins, ", holdWhile: "held", then: "and ends." },
      { say: "Said again, to its end." },
      { say: "After the restart." },
    ],
  });
  await using editor = await Editor.start({ extensions: PACKAGES, settings: SCRIPTED, environment: { PROBE: probe.folder } });
  const panel = await Panel.open(editor);
  await panel.ask("First?");
  await panel.answer("The first answer is whole.").waitFor();
  probe.hold("held");
  await panel.ask("Second?");
  await panel.answer("This one begins,").waitFor();
  process.kill(editor.sidecars()[0] ?? 0, "SIGKILL");
  const notice = panel.frame.locator(".notice").filter({ hasText: "The sidecar restarted during this answer" });
  await notice.waitFor();
  await editor.shoot("failures-4-killed");
  probe.release("held");
  await panel.answer("The first answer is whole.").waitFor();
  assert.equal(await panel.frame.locator(".row.user").count(), 2, "both questions are there");
  await notice.getByRole("button", { name: "Ask Again" }).click();
  await panel.answer("Said again, to its end.").waitFor();
  await until(() => editor.sidecars().length === 1, "one sidecar runs");
  const [before] = editor.sidecars();
  await panel.prompt.fill("Not sent yet");
  await editor.command("threadhold: Restart Sidecar");
  await until(() => editor.sidecars().length === 1 && editor.sidecars()[0] !== before, "another one runs");
  await until(async () => !(await panel.prompt.isDisabled()), "it can be asked");
  assert.equal(await panel.prompt.inputValue(), "Not sent yet");
  await panel.prompt.press("Enter");
  await panel.answer("After the restart.").waitFor();
  assert.equal(await panel.prompt.inputValue(), "", "what was sent does not come back");
  await editor.shoot("failures-5-again");
  await editor.down();
  await until(() => editor.sidecars().length === 0, "none is left when the editor has ended");
});

test("a prompt that is sent while its session is opened again is sent once", async () => {
  using probe = new Probe({ answers: [{ say: "The first answer." }, { say: "After the restart." }] });
  const slow = join(probe.folder, "slow");
  writeFileSync(slow, slowToOpen(process.env["THREADHOLD_BIN"] ?? "", probe.folder), { mode: 0o755 });
  const asked = (method: string): number =>
    readFileSync(join(probe.folder, "methods"), "utf8")
      .split("\n")
      .filter((line) => line === method).length;
  await using editor = await Editor.start({
    extensions: PACKAGES,
    settings: { ...SCRIPTED, "threadhold.binary": slow },
    environment: { PROBE: probe.folder },
  });
  const panel = await Panel.open(editor);
  await panel.ask("First?");
  await panel.answer("The first answer.").waitFor();
  await panel.prompt.fill("Not sent yet");
  await until(() => asked("draft/set") > 0, "what is typed is stored");
  const before = asked("session/open");
  probe.hold("opening");
  await editor.command("threadhold: Restart Sidecar");
  await until(() => asked("session/open") > before, "the session is being opened again");
  await until(async () => !(await panel.prompt.isDisabled()), "it can be asked");
  assert.equal(await panel.prompt.inputValue(), "Not sent yet");
  await panel.prompt.press("Enter");
  await until(async () => (await panel.prompt.inputValue()) === "", "it is sent");
  probe.release("opening");
  await panel.answer("After the restart.").waitFor();
  assert.equal(await panel.prompt.inputValue(), "", "what was sent does not come back");
});

test("no model, and a model that fails", async () => {
  using probe = new Probe({
    answers: [{ fail: "The quota is used up" }, { say: "Now it w", fail: "net::ERR_CONNECTION_RESET" }, { say: "Now it works." }],
  });
  await using editor = await Editor.start({
    extensions: PACKAGES,
    settings: { ...SCRIPTED, "threadhold.model": "probe/gone" },
    environment: { PROBE: probe.folder },
  });
  const panel = await Panel.open(editor);
  await panel.ask("Is anybody there?");
  await panel.frame.getByText("No model is selected").waitFor();
  assert.equal(await panel.prompt.inputValue(), "Is anybody there?", "what was typed stays");
  await editor.shoot("failures-6-no-model");
  assert.ok(await panel.button("Choose Model…").isVisible(), "and what to do is still said");
  await panel.button("Choose Model…").click();
  await editor.page.locator(".quick-input-list .monaco-list-row").filter({ hasText: "Scripted" }).click();
  await panel.button("Model: Scripted. Choose Model…").waitFor();
  await panel.prompt.press("Enter");
  const failed = panel.frame.locator(".row.notice.error");
  await failed.getByText("The quota is used up").waitFor();
  await editor.shoot("failures-7-model-failed");
  await failed.getByRole("button", { name: "Try Again" }).click();
  // Its connection breaks once: it is asked again without a word of the user.
  await panel.answer("Now it works.").waitFor();
  assert.equal(probe.asked.length, 3);
});

test("an answer whose window is loaded again is marked as interrupted, and goes on", async () => {
  using probe = new Probe({ answers: [{ say: "This goes on", holdWhile: "held" }, { say: "and ends here." }] });
  await using editor = await Editor.start({ extensions: PACKAGES, settings: SCRIPTED, environment: { PROBE: probe.folder } });
  let panel = await Panel.open(editor);
  probe.hold("held");
  await panel.ask("Is it long?");
  await panel.answer("This goes on").waitFor();
  await editor.reload();
  panel = await Panel.open(editor);
  const notice = panel.frame.locator(".row.notice").filter({ hasText: "The answer was interrupted: its window was closed" });
  await notice.waitFor();
  await editor.shoot("failures-8-interrupted");
  assert.equal(await panel.frame.getByText("Stopped by you.").count(), 0, "nobody stopped it");
  await panel.prompt.fill("Not sent yet");
  probe.release("held");
  await notice.getByRole("button", { name: "Continue" }).click();
  await panel.answer("and ends here.").waitFor();
  await notice.waitFor({ state: "detached" });
  assert.equal(await panel.prompt.inputValue(), "Not sent yet", "what was typed stays");
});
