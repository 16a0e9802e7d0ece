// Answers at 2,000 pieces per second in a session of 5,000 rounds, while somebody types: the end is in view after each of
// them. Reports the frames of the panel meanwhile, and how long a reload of the window takes. THREADHOLD_STREAMED is the
// number of answers, 3 if it is not set; docs/performance.md has the figures of 50.

import assert from "node:assert/strict";
import { loadavg } from "node:os";
import { test } from "node:test";
import { PATIENCE, until } from "../../support/editor.ts";
import { drawn, placeOf } from "../../support/feed.ts";
import { longEditor, longPanel } from "../../support/long-session.ts";
import { Panel } from "../../support/panel.ts";
import { Probe } from "../../support/probe.ts";

const ANSWERS = Number(process.env["THREADHOLD_STREAMED"] ?? 3);
/** The scripted model says 100 every 50 ms. */
const PIECES = 2_000;
/** Between two keys, as of somebody who types fast. */
const KEY_MS = 60;

/** Times between the frames of the panel, and from a key to the frame after it, in milliseconds. */
interface Times {
  frames: number[];
  keys: number[];
}

/** The value below which this share of them is. */
const share = (times: readonly number[], of: number): number =>
  Math.round(times.toSorted((one, other) => one - other)[Math.min(times.length - 1, Math.floor(times.length * of))] ?? 0);
const told = (times: readonly number[]): string => `p50 ${share(times, 0.5)}, p95 ${share(times, 0.95)}, longest ${share(times, 1)} ms`;

/** Notes times from now on; it runs in the page. */
function watch(): void {
  const times: Times = { frames: [], keys: [] };
  let before = performance.now();
  const next = (): void => {
    const now = performance.now();
    times.frames.push(now - before);
    before = now;
    requestAnimationFrame(next);
  };
  requestAnimationFrame(next);
  addEventListener(
    "input",
    // A key waits before it is an event of the page: its time is when it was pressed.
    ({ timeStamp }) => requestAnimationFrame(() => setTimeout(() => times.keys.push(performance.now() - timeStamp))),
    { capture: true },
  );
  Object.assign(globalThis, { times });
}

test(`the end is in view after each of ${ANSWERS} fast answers in a long session, while somebody types`, async () => {
  const answers = Array.from({ length: ANSWERS }, (_, at) => ({
    pieces: { count: PIECES, text: at % 2 === 0 ? "word " : "- an item of a list\n" },
    say: `\n\nThe end of ${at}.`,
  }));
  using probe = new Probe({ window: 2_000_000, answers });
  await using editor = await longEditor(probe);
  const panel = await longPanel(editor);
  const isBusy = async (): Promise<boolean> => (await panel.frame.locator("body.busy").count()) > 0;
  const times: Times = { frames: [], keys: [] };
  const lost: { at: number; fromEnd: number }[] = [];
  for (let at = 0; at < ANSWERS; at += 1) {
    await panel.ask(`And ${at}?`);
    await until(isBusy, "the answer has begun");
    await panel.feed.evaluate(watch);
    while (await isBusy()) await editor.page.keyboard.type("what is typed ", { delay: KEY_MS });
    const found = await panel.feed.evaluate(() => (globalThis as unknown as { times: Times }).times);
    times.frames.push(...found.frames);
    times.keys.push(...found.keys);
    await panel.answer(`The end of ${at}.`).waitFor();
    await drawn(panel);
    const { fromEnd, isAtEnd } = await placeOf(panel);
    if (!isAtEnd) lost.push({ at, fromEnd });
    assert.match(await panel.prompt.inputValue(), /^(what is typed )+$/, "not a key is lost");
  }
  assert.deepEqual(lost, [], "answers whose end is out of view");
  const load = loadavg()[0]?.toFixed(1);
  console.log(`${ANSWERS} answers, load ${load}: ${times.frames.length} frames: ${told(times.frames)}; keys: ${told(times.keys)}`);

  const before = performance.now();
  await editor.reload(Panel.STORED);
  const editorThere = performance.now();
  await panel.answer(`The end of ${ANSWERS - 1}.`).waitFor({ timeout: PATIENCE });
  await until(() => panel.prompt.isEnabled(), "the panel can be asked");
  const there = performance.now();
  console.log(`a reload: the editor after ${Math.round(editorThere - before)} ms, the panel after ${Math.round(there - before)} ms`);
});
