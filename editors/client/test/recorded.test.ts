// Every recorded conversation, played again: before each thing that the client says, a view that took the events is the
// snapshot that `session/subscribe` gives then, of as much as the view shows.

import { deepEqual, ok } from "node:assert/strict";
import { readdirSync } from "node:fs";
import test from "node:test";
import type { Snapshot } from "../src/protocol.js";
import { fromPackage, within } from "./support/binary.js";
import { conversation, Play } from "./support/play.js";

const names = readdirSync(fromPackage("../../fixtures/wire")).filter((name) => name.endsWith(".jsonl"));

test("there are conversations", () => ok(names.length > 30, `${names.length}`));

let compared = 0;

for (const name of names) {
  test(name, async () => {
    const play = new Play((view, snapshot, line) => {
      ok(view.isExact, `line ${line}`);
      deepEqual(told(view.snapshot), told(snapshot), `line ${line}`);
    });
    await within("the end of the conversation", play.play(conversation(name)));
    compared += play.compared;
  });
}

test("views were looked at all along", () => ok(compared > 500, `${compared}`));

/** A compaction that is void speaks of places where other messages may stand by now. */
function told(snapshot: Readonly<Snapshot>): object {
  const compactions = snapshot.compactions.map((compaction) => {
    const { metadata: _, excludedIds: __, ...rest } = compaction;
    return compaction.status === "void" ? rest : compaction;
  });
  return { ...snapshot, compactions };
}
