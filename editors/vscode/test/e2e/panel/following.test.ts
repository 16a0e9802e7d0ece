// Following the end of a conversation: it goes on through whatever grows, shrinks or is drawn late, and ends where the user
// goes up and nowhere else; back at the end, it goes on.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Answer } from "../../extension/src/script.ts";
import { Editor, until } from "../../support/editor.ts";
import { drawn, placeOf } from "../../support/feed.ts";
import { Panel } from "../../support/panel.ts";
import { Probe } from "../../support/probe.ts";
import { PACKAGES, SCRIPTED } from "../../support/settings.ts";

const TURNS = 16;

const code = (lines: number): string =>
  ["```ts", ...Array.from({ length: lines }, (_, line) => `const a${line} = call(${line});`), "```", "", ""].join("\n");
const table = (rows: number): string =>
  ["| name | value |", "| --- | --- |", ...Array.from({ length: rows }, (_, row) => `| n${row} | ${row} |`), "", ""].join("\n");

/** Pieces of answers that grow in different ways: words, blocks of code, tables, lists, long lines. */
const KINDS = [
  "word ",
  code(3),
  `# Heading\n\n${"word ".repeat(20)}\n\n`,
  table(4),
  "- an item of a list\n",
  "a_name_without_any_room_to_break_".repeat(3),
];

const answers: Answer[] = Array.from({ length: TURNS }, (_, turn) => ({
  pieces: { count: 120, text: KINDS[turn % KINDS.length] ?? "" },
  say: `\n\n${code(30)}The end of ${turn}.`,
}));

/** Pastes a picture of some size, which is laid out once it is decoded; it runs in the page. */
async function paste(area: Element): Promise<void> {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [200, 150];
  const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, "image/png"));
  if (blob === null) throw new Error("the picture cannot be made");
  const clipboardData = new DataTransfer();
  clipboardData.items.add(new File([blob], "picture.png", { type: "image/png" }));
  area.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
}

test("the end is in view after each of sixteen answers", async () => {
  using probe = new Probe({ window: 2_000_000, answers });
  await using editor = await Editor.start({ extensions: PACKAGES, shared: true, settings: SCRIPTED, environment: { PROBE: probe.folder } });
  const panel = await Panel.open(editor);
  await until(() => panel.prompt.isEnabled(), "the panel can be asked");
  const lost: { turn: number; fromEnd: number }[] = [];
  for (let turn = 0; turn < TURNS; turn += 1) {
    if (turn % 4 === 3) {
      await panel.prompt.evaluate(paste);
      await panel.frame.getByRole("list", { name: "Attachments" }).getByRole("listitem").waitFor();
    }
    await panel.ask(`Question ${turn}`);
    // The room that the conversation has changes while it goes on.
    if (turn % 4 === 1) await panel.meter.click();
    if (turn % 4 === 2) await editor.page.setViewportSize({ width: 1280, height: turn % 8 === 2 ? 700 : 900 });
    await panel.answer(`The end of ${turn}.`).waitFor();
    await until(async () => (await panel.frame.locator("body.busy").count()) === 0, "the turn is over");
    // As a font that is loaded late.
    if (turn % 4 === 0) await panel.rows.last().evaluate((row: HTMLElement) => (row.style.paddingBottom = "400px"));
    await drawn(panel);
    const { fromEnd, isAtEnd } = await placeOf(panel);
    if (!isAtEnd) lost.push({ turn, fromEnd });
  }
  await editor.shoot("following-1-end");
  assert.deepEqual(lost, [], "answers whose end is out of view");
});

test("who goes up stays there while answers grow, until they go back", async () => {
  const long = `${"A line of an answer.\n\n".repeat(40)}`;
  const held = (name: string): Answer => ({ say: `${long}Begun ${name}.`, holdWhile: name, then: `\n\n${long}The end of ${name}.` });
  using probe = new Probe({
    window: 2_000_000,
    answers: [{ say: `${long}The first.` }, ...["one", "two", "three", "four", "five"].map(held), { say: `${long}The end of six.` }],
  });
  await using editor = await Editor.start({ extensions: PACKAGES, shared: true, settings: SCRIPTED, environment: { PROBE: probe.folder } });
  const panel = await Panel.open(editor);
  const { mouse, keyboard } = editor.page;
  const back = panel.button("Scroll to Bottom");
  await panel.ask("First?");
  await panel.answer("The first.").waitFor();

  /** Leaves the end while an answer is written, and goes back to it after that: what is seen stays until then. */
  const goes = async (name: string, up: () => Promise<void>, down: () => Promise<void>): Promise<void> => {
    probe.hold(name);
    await panel.ask(`And ${name}?`);
    await panel.answer(`Begun ${name}.`).waitFor();
    await drawn(panel);
    assert.deepEqual(
      [await placeOf(panel).then(({ isAtEnd }) => isAtEnd), await back.isVisible()],
      [true, false],
      `${name}: the end is followed`,
    );
    await up();
    await back.waitFor();
    await drawn(panel);
    const before = await panel.feed.evaluate(({ scrollTop }) => scrollTop);
    probe.release(name);
    await until(async () => (await panel.frame.locator("body.busy").count()) === 0, "the turn is over");
    await drawn(panel);
    assert.equal(await panel.feed.evaluate(({ scrollTop }) => scrollTop), before, `${name}: what is seen stays where it is`);
    assert.ok(await back.isVisible());
    await down();
    await back.waitFor({ state: "hidden" });
    await drawn(panel);
    assert.equal((await placeOf(panel)).isAtEnd, true, `${name}: back at the end`);
  };

  await goes(
    "one",
    () => panel.wheel(-300),
    () => back.click(),
  );
  // However little.
  await goes(
    "two",
    () => panel.wheel(-10),
    () => panel.wheel(10_000_000),
  );
  const focus = () => panel.feed.focus();
  await goes(
    "three",
    async () => {
      await focus();
      await keyboard.press("ArrowUp");
    },
    async () => {
      await focus();
      await keyboard.press("End");
    },
  );
  await editor.shoot("following-2-keys");
  /** Where the thumb of the scrollbar is; it is at its end. */
  const thumb = async (): Promise<{ x: number; y: number }> => {
    const box = await panel.feed.boundingBox();
    assert.ok(box !== null);
    return { x: box.x + box.width - 4, y: box.y + box.height - 8 };
  };
  const dragThumb = async (by: number, from: { x: number; y: number }): Promise<void> => {
    await mouse.move(from.x, from.y);
    await mouse.down();
    await mouse.move(from.x, from.y + by, { steps: 5 });
    await mouse.up();
    await mouse.move(from.x - 60, from.y - 60);
  };
  let at = { x: 0, y: 0 };
  await goes(
    "four",
    async () => {
      at = await thumb();
      await dragThumb(-60, at);
      at = { x: at.x, y: at.y - 60 };
    },
    async () => {
      await panel.wheel(-50);
      await back.click();
    },
  );
  // To a row by the keyboard, and back to the last one.
  await goes(
    "five",
    async () => {
      await panel.answer("The first.").or(panel.rows.last()).last().focus();
      await keyboard.press("PageUp");
    },
    async () => {
      await keyboard.press("Control+End");
    },
  );
  await editor.shoot("following-3-back");

  // As a screen reader scrolls, which sends no wheel and no key.
  await panel.feed.evaluate((feed) => (feed.scrollTop = 0));
  await drawn(panel);
  assert.equal(await panel.feed.evaluate(({ scrollTop }) => scrollTop), 0, "a scroll by program stays");
  await panel.answer("The first.").waitFor();
  await panel.ask("And six?");
  await panel.answer("The end of six.").waitFor();
  await until(async () => (await panel.frame.locator("body.busy").count()) === 0, "the turn is over");
  await drawn(panel);
  assert.equal((await placeOf(panel)).isAtEnd, true, "the end is followed once something grows");
});
