// Takes the pictures of the README from the real editor, into media/readme. It runs only when it is asked for, after the
// panel's looks changed: test/run test/pictures/readme.test.ts. What the panel does is tested elsewhere.

import assert from "node:assert/strict";
import { mkdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Message } from "@threadhold/client";
import type { Locator } from "playwright-core";
import { Editor } from "../support/editor.ts";
import { Panel } from "../support/panel.ts";
import { Probe } from "../support/probe.ts";
import { PACKAGES, SCRIPTED } from "../support/settings.ts";

const PLACE = "media/readme";
/** Small enough for a page and a package. */
const MOST_BYTES = 150_000;
const SIZE = { width: 1040, height: 700 };

/** Files that the demo conversation read, by call. */
const read = new Map(
  readFileSync("media/demo/session.jsonl", "utf8")
    .trim()
    .split("\n")
    .slice(1)
    .flatMap((line) => (JSON.parse(line) as Message).parts)
    .flatMap((part) =>
      part.type === "toolResult" && typeof part.content !== "string" && part.content[0]?.type === "text"
        ? [[part.toolCallId, part.content[0].text] as const]
        : [],
    ),
);
const FILES = { "src/table.rs": read.get("d2") ?? "", "src/clock.rs": read.get("d3") ?? "", "tests/table.rs": read.get("d6") ?? "" };

test("the demonstration: its card, what it covers, what the prompt is made of", async () => {
  await using editor = await Editor.start({
    extensions: ["dist/threadhold.vsix"],
    files: FILES,
    size: SIZE,
    settings: { "threadhold.binary": process.env["THREADHOLD_BIN"] },
  });
  await editor.command("View: Toggle Primary Side Bar Visibility");
  const panel = await Panel.open(editor);
  await Panel.resize(editor, 460);
  await editor.command("threadhold: Show Compaction Demo");
  await panel.answer("You asked to keep the format").waitFor();
  await panel.button("Dismiss").click();
  const card = panel.cards.first();
  await card.getByText("Summary", { exact: true }).click();
  await card.locator(".markdown").waitFor();
  await card.scrollIntoViewIfNeeded();
  await calm(editor);
  await take(editor, "compaction", Panel.sideBar(editor));
  await card.getByText("Summary", { exact: true }).click();
  await card.getByText(/^Original messages/).click();
  await card.getByText("Result: //! What day and hour").click();
  await card.locator(".originals pre").first().waitFor();
  await card.scrollIntoViewIfNeeded();
  await calm(editor);
  await take(editor, "covered", Panel.sideBar(editor));
  await card.getByText(/^Original messages/).click();
  await panel.meter.click();
  await panel.frame.getByText("Compaction triggers").waitFor();
  await calm(editor);
  await take(editor, "context", Panel.sideBar(editor));
});

test("a decision about an edit, its change, and a rewind", async () => {
  using probe = new Probe({
    answers: [
      { calls: [{ id: "c1", name: "read_file", input: { path: "src/clock.rs" } }] },
      {
        say: "`Clock::day` gives the day at **Greenwich**, `Clock::local_hour` the hour at the place. I take both from local time.",
        calls: [
          {
            id: "c2",
            name: "edit_file",
            input: {
              path: "src/clock.rs",
              old: "civil_from_days(self.seconds_utc.div_euclid(86_400))",
              new: "let local = self.seconds_utc + i64::from(self.offset_minutes) * 60;\n        civil_from_days(local.div_euclid(86_400))",
            },
          },
        ],
      },
      { calls: [{ id: "c3", name: "run_command", input: { command: "wc -l src/*.rs > lines.txt" } }] },
      { say: "Day and hour are both local now." },
    ],
  });
  await using editor = await Editor.start({
    extensions: PACKAGES,
    files: FILES,
    size: SIZE,
    settings: { ...SCRIPTED, "threadhold.approve.run": "allow", "editor.minimap.enabled": false },
    environment: { PROBE: probe.folder },
  });
  await editor.command("View: Toggle Primary Side Bar Visibility");
  const panel = await Panel.open(editor);
  await Panel.resize(editor, 410);
  await panel.ask("After midnight the tide table shows yesterday's date in Auckland. Mend it.");
  await panel.button("Allow").waitFor();
  await editor.page.locator(".modified .view-line").filter({ hasText: "offset_minutes" }).first().waitFor();
  await calm(editor);
  await take(editor, "decision");
  await panel.button("Allow").click();
  await panel.answer("Day and hour are both local now.").waitFor();
  await panel.frame.getByRole("button", { name: /2 files changed/ }).click();
  // The first one is in what the command made.
  await editor.command("threadhold: Go to Next Change");
  await editor.page.locator(".tab.active").filter({ hasText: "lines.txt" }).waitFor();
  await editor.command("threadhold: Go to Next Change");
  await editor.page.locator(".tab.active").filter({ hasText: "clock.rs" }).waitFor();
  await editor.page.locator(".codelens-decoration a").filter({ hasText: "Undo" }).waitFor();
  await calm(editor);
  await take(editor, "changes");
  const question = panel.frame.locator(".row.user").first();
  await question.hover();
  await question.getByRole("button", { name: "Rewind to Here…" }).click();
  await panel.frame.locator(".row.rewind").waitFor();
  await calm(editor);
  await take(editor, "rewind", Panel.sideBar(editor));
});

/** Takes the pointer away from whatever it would show a hint of. */
async function calm(editor: Editor): Promise<void> {
  await editor.page.mouse.move(SIZE.width - 200, SIZE.height - 60);
  await editor.page.waitForTimeout(600);
}

async function take(editor: Editor, name: string, of?: Locator): Promise<void> {
  mkdirSync(PLACE, { recursive: true });
  const path = join(PLACE, `${name}.png`);
  await (of ?? editor.page).screenshot({ path });
  assert.ok(statSync(path).size < MOST_BYTES, `${path} has ${statSync(path).size} bytes`);
}
