// Following the end of a conversation: it goes on through whatever grows, shrinks or is drawn late, and ends where the user
// goes up and nowhere else; back at the end, it goes on.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Editor, until } from "../support/editor.ts";
import { Panel } from "../support/panel.ts";
import { Probe } from "../support/probe.ts";
import { PACKAGES, SCRIPTED } from "../support/settings.ts";
import type { Answer } from "../extension/src/script.ts";

const TURNS = 16;

const code = (lines: number): string => ["```ts", ...Array.from({ length: lines }, (_, line) => `const a${line} = call(${line});`), "```", "", ""].join("\n");
const table = (rows: number): string => ["| name | value |", "| --- | --- |", ...Array.from({ length: rows }, (_, row) => `| n${row} | ${row} |`), "", ""].join("\n");

/** Pieces of answers that grow in different ways: words, blocks of code, tables, lists, long lines. */
const KINDS = ["word ", code(3), `# Heading\n\n${"word ".repeat(20)}\n\n`, table(4), "- an item of a list\n", "a_name_without_any_room_to_break_".repeat(3)];

const answers: Answer[] = Array.from({ length: TURNS }, (_, turn) => ({
  pieces: { count: 120, text: KINDS[turn % KINDS.length] ?? "" },
  say: `\n\n${code(30)}The end of ${turn}.`,
}));

/** A page of a feed, and how it is scrolled. */
interface Place {
  fromEnd: number;
  isAtEnd: boolean;
}

const placeOf = (panel: Panel): Promise<Place> =>
  panel.frame.locator(".feed").evaluate((feed) => {
    const fromEnd = feed.scrollHeight - feed.scrollTop - feed.clientHeight;
    return { fromEnd, isAtEnd: Math.abs(fromEnd) <= 2 };
  });

/** Waits until what was told last is drawn, and measured, and drawn again. */
const drawn = (panel: Panel): Promise<void> =>
  panel.frame.locator(".feed").evaluate(
    () =>
      new Promise<void>((resolve) => {
        let frames = 0;
        const next = (): void => void ((frames += 1) > 10 ? resolve() : requestAnimationFrame(next));
        next();
      }),
  );

test("the end is in view after each of sixteen answers", async () => {
  using probe = new Probe({ window: 2_000_000, answers });
  await using editor = await Editor.start({ extensions: PACKAGES, settings: SCRIPTED, environment: { PROBE: probe.folder } });
  const panel = await Panel.open(editor);
  await until(() => panel.prompt.isEnabled(), "the panel can be asked");
  const lost: { turn: number; fromEnd: number }[] = [];
  for (let turn = 0; turn < TURNS; turn += 1) {
    await panel.ask(`Question ${turn}`);
    // The room that the conversation has changes while it goes on.
    if (turn % 4 === 1) await panel.meter.click();
    if (turn % 4 === 2) await editor.page.setViewportSize({ width: 1280, height: turn % 8 === 2 ? 700 : 900 });
    await panel.answer(`The end of ${turn}.`).waitFor();
    await until(async () => (await panel.frame.locator("body.busy").count()) === 0, "the turn is over");
    await drawn(panel);
    const { fromEnd, isAtEnd } = await placeOf(panel);
    if (!isAtEnd) lost.push({ turn, fromEnd });
  }
  await editor.shoot("following-1-end");
  assert.deepEqual(lost, [], "answers whose end is out of view");
});
