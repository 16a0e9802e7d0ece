// Every recorded conversation, played again: before each thing that the client says, a view that took the events is the
// snapshot that `session/subscribe` gives then, of as much as the view shows.

import { deepEqual, equal, ok } from "node:assert/strict";
import { readdirSync } from "node:fs";
import test from "node:test";
import type { Snapshot } from "../src/protocol.js";
import { fromPackage, within } from "./support/binary.js";
import { conversation, Play } from "./support/play.js";

const names = readdirSync(fromPackage("../../fixtures/wire")).filter((name) => name.endsWith(".jsonl"));

/**
 * How often something happens that no event tells, so that the snapshot is asked for: an editor that runs its own loop
 * begins a turn while another runs.
 */
const UNTOLD: { [name: string]: number } = { "editor-driven.jsonl": 2 };

test("there are conversations", () => ok(names.length > 30, `${names.length}`));

let compared = 0;

for (const name of names) {
  test(name, async () => {
    let untold = 0;
    const play = new Play((view, snapshot, line) => {
      if (view.isExact) return deepEqual(told(view.snapshot), told(snapshot), `line ${line}`);
      untold += 1;
      view.show(structuredClone(snapshot));
    });
    await within("the end of the conversation", play.play(conversation(name)));
    equal(untold, UNTOLD[name] ?? 0);
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
