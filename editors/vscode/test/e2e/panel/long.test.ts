// A session of 5,000 rounds and an answer that comes in thousands of pieces: it is opened by its end, what was said before
// comes when it is looked for, the rows that are drawn stay few, and what comes is drawn once for each picture of the
// screen, however fast it comes.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { HostMessage } from "../../../src/shared/envelope.ts";
import { until } from "../../support/editor.ts";
import { longEditor, longPanel, ROUNDS } from "../../support/long-session.ts";
import { Probe } from "../../support/probe.ts";

/** Far more than a screen shows, and far less than there are. */
const MOST_DRAWN = 150;

test("5,000 rounds, and 2,000 pieces a second", async () => {
  using probe = new Probe({ window: 2_000_000, answers: [{ pieces: { count: 6_000, text: "word " }, say: "The end." }] });
  await using editor = await longEditor(probe);
  const panel = await longPanel(editor);
  const feed = panel.frame.locator(".feed");
  const drawn = () => panel.rows.count();
  assert.ok((await drawn()) <= MOST_DRAWN, `${await drawn()} rows are drawn at the end`);
  const size = async () => Number(await panel.rows.last().getAttribute("aria-setsize"));
  const atFirst = await size();
  assert.ok(atFirst < 1_000, `${atFirst} rows are there at first`);
  await editor.shoot("long-1-end");

  // What was said before comes when the reader gets there, who stays at the same row.
  await panel.wheel(-10_000_000);
  await until(async () => (await size()) > atFirst, "earlier rows come");
  const afterOne = await size();
  assert.ok(afterOne < 2 * atFirst + 10, "not all of them");
  assert.ok((await drawn()) <= MOST_DRAWN);
  const top = Number(await panel.rows.first().getAttribute("aria-posinset"));
  assert.ok(top > 100, `the reader stays in the middle and is not taken to row ${top}`);
  await editor.shoot("long-2-earlier");

  // Summed up, it shows what that covers, the newest first, though most of it is not here.
  await editor.command("threadhold: Compact Conversation");
  await editor.page
    .locator(".quick-input-widget")
    .getByText(/summarizes/)
    .waitFor();
  await editor.page.keyboard.press("Enter");
  await panel.button("Scroll to Bottom").click();
  const card = panel.cards.filter({ hasText: "Requested by you" });
  await card.getByText("Original messages", { exact: true }).click();
  await card.getByText("Show Earlier").click();
  const originals = card.locator(".originals > li");
  await until(async () => (await originals.count()) > 100, "earlier ones come");
  assert.ok((await originals.count()) <= 200);
  await editor.shoot("long-3-covered");
  await card.getByText("Original messages", { exact: true }).click();

  // What was said long ago is found and shown, with the rows around it.
  await editor.command("threadhold: Find in Session");
  await editor.page.locator(".quick-input-widget input").fill("fn f1210()");
  const found = editor.page.locator(".quick-input-list .monaco-list-row").filter({ hasText: "summarized" });
  await found.waitFor();
  await editor.shoot("long-4-find");
  await editor.page.keyboard.press("Enter");
  await panel.call("file-1210.rs").waitFor();
  await until(async () => panel.call("file-1210.rs").evaluate((row) => row.contains(document.activeElement)), "it has the focus");
  assert.ok((await drawn()) <= MOST_DRAWN);
  await editor.shoot("long-5-found");

  // The key to find looks in the panel again, and in the text once that has the focus.
  const box = editor.page.locator(".quick-input-widget").getByText("Find in Session");
  await editor.page.keyboard.press("Control+F");
  await box.waitFor();
  await editor.page.keyboard.press("Escape");
  await box.waitFor({ state: "hidden" });
  editor.write("notes.txt", "A text.\n");
  await editor.open("notes.txt");
  await editor.page.keyboard.press("Control+F");
  await editor.page.locator(".find-widget.visible").waitFor();
  assert.equal(await box.isVisible(), false);
  await editor.page.keyboard.press("Escape");

  // All of it, to the start and through the middle.
  await feed.evaluate((element) => (element.scrollTop = 0));
  await panel.frame.locator(".row.earlier").getByRole("button", { name: "Show All" }).click();
  const total = 500 + 2 * ROUNDS + 500 + 1;
  await until(async () => (await size()) === total, "all rows are in the list");
  await feed.evaluate((element) => (element.scrollTop = 0));
  await panel.frame.getByText("Question 0", { exact: true }).waitFor();
  assert.ok((await drawn()) <= MOST_DRAWN);
  for (const share of [0.25, 0.5, 0.75]) {
    await feed.evaluate((element, share) => (element.scrollTop = element.scrollHeight * share), share);
    // The first one drawn may be the one that has the focus.
    await until(
      async () => Math.abs(Number(await panel.rows.nth(1).getAttribute("aria-posinset")) / total - share) < 0.1,
      "the middle is drawn",
    );
    assert.ok((await drawn()) <= MOST_DRAWN);
  }
  await editor.shoot("long-6-middle");
  await panel.button("Scroll to Bottom").click();
  await panel.answer("Answer 499.").waitFor();

  // How often the screen was drawn, and how often the panel was told something, until the answer is whole.
  await feed.evaluate(() => {
    const counts = { frames: 0, told: 0, longest: 0 };
    let before = performance.now();
    const count = (now: number): void => {
      counts.frames += 1;
      counts.longest = Math.max(counts.longest, now - before);
      before = now;
      requestAnimationFrame(count);
    };
    requestAnimationFrame(count);
    addEventListener("message", ({ data }: MessageEvent<HostMessage>) => {
      if (data.messages.some(({ type }) => type === "append")) counts.told += 1;
    });
    Object.assign(globalThis, { counts });
  });
  await panel.ask("Say much.");
  await panel.answer("The end.").waitFor();
  const counts = await feed.evaluate(() => (globalThis as unknown as { counts: { frames: number; told: number; longest: number } }).counts);
  console.log(`${counts.told} times told in ${counts.frames} frames; the longest took ${Math.round(counts.longest)} ms`);
  assert.ok(counts.told > 0 && counts.told <= counts.frames, "at most once for each frame");
  assert.ok((await drawn()) <= MOST_DRAWN);
  assert.equal(((await panel.answer("The end.").textContent()) ?? "").match(/word/g)?.length, 6_000, "not a word is missing");
  await editor.shoot("long-7-answer");
});
