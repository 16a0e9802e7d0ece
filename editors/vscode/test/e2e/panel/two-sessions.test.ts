// Rows of one session never stand among those of another: what the panel is told before its page is there, and what a page
// is told of a session that is not shown any more, is not drawn; what a user does in one session is not done in another.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ChatView } from "../../support/chatview.ts";
import { Editor } from "../../support/editor.ts";
import { Panel } from "../../support/panel.ts";
import { Probe } from "../../support/probe.ts";
import { PACKAGES, SCRIPTED } from "../../support/settings.ts";

const SETTINGS = {
  ...SCRIPTED,
  "threadhold.sidecarSettings": { limitHistory: "off", triggers: { background: false, preTurnTokens: false } },
};

/** Long enough that there is something to gain in a compaction. */
const words = (of: string): string => `${of}: ${"many words of it ".repeat(120)}`;

/** How many rows there are, drawn or not, as a screen reader is told; and those that are drawn. */
async function rowsOf(panel: Panel): Promise<{ sizes: string[]; ids: string[] }> {
  const rows = await panel.rows.evaluateAll((all) =>
    all.map((row) => [(row as HTMLElement).dataset["row"] ?? "", row.getAttribute("aria-setsize") ?? ""] as const),
  );
  return { sizes: [...new Set(rows.map(([, size]) => size))], ids: rows.map(([id]) => id) };
}

test("the link of a compaction opens the panel with the rows of its session alone", async () => {
  const turns = 4;
  using probe = new Probe({ window: 64_000, answers: Array.from({ length: turns }, (_, at) => ({ say: words(`Answer ${at}`) })) });
  await using editor = await Editor.start({
    extensions: PACKAGES,
    settings: SETTINGS,
    environment: { PROBE: probe.folder },
  });
  // The panel was never opened in this window: its page is made by the click on the link.
  const chat = await ChatView.open(editor);
  for (let at = 0; at < turns; at += 1) await chat.ask(`@threadhold Question ${at}`, `Answer ${at}`);
  await chat.send("@threadhold /compact");
  await chat.compacted.waitFor();
  await chat.compacted.click();
  const panel = await Panel.on(editor);
  await panel.cards.first().waitFor();
  await panel
    .answer(`Answer ${turns - 1}`)
    .first()
    .waitFor();
  await editor.shoot("two-sessions-1-link");
  const { sizes, ids } = await rowsOf(panel);
  assert.deepEqual(sizes, [String(2 * turns + 1)], "a question and an answer for each turn, and the card");
  assert.deepEqual(ids, [...new Set(ids)], "no row stands there twice");

  await editor.command("threadhold: New Session");
  await panel.frame.getByText("Ask about this folder.").waitFor();
  await editor.shoot("two-sessions-2-new");
  assert.deepEqual(await rowsOf(panel), { sizes: [], ids: [] });
});
