// The shared fixtures through the client's fold. The sidecar's own tests read the same files.

import { deepEqual, equal, ok } from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import test from "node:test";
import { fold, UnknownCall } from "../src/fold.js";
import type { DeltaOp, Streaming } from "../src/protocol.js";

interface Case {
  name: string;
  ops: DeltaOp[];
  folded: Omit<Streaming, "messageId">;
  error?: string;
}

// From dist/test.
const folder = new URL("../../../../fixtures/delta/", import.meta.url);
const files = readdirSync(folder).filter((name) => name.endsWith(".json"));
const cases = files.flatMap((name) => JSON.parse(readFileSync(new URL(name, folder), "utf8")) as Case[]);

/** The fold of all operations. `between` is done to the draft before each. */
function folded(ops: DeltaOp[], between: (draft: Streaming) => Streaming): [Streaming, string | undefined] {
  let draft: Streaming = { messageId: "m", parts: [] };
  let error: string | undefined;
  for (const op of ops) {
    draft = between(draft);
    try {
      equal(fold(draft, op), draft);
    } catch (thrown) {
      if (!(thrown instanceof UnknownCall)) throw thrown;
      error = thrown.message;
    }
  }
  return [draft, error];
}

test("there are fixtures", () => ok(cases.length > 40, `${cases.length}`));

for (const { name, ops, folded: expected, error } of cases) {
  test(name, () => {
    const before = JSON.stringify(ops);
    const [draft, failed] = folded(ops, (draft) => draft);
    deepEqual(draft, { messageId: "m", ...expected });
    equal(failed, error);
    equal(JSON.stringify(ops), before, "the operations are left as they are");
    // Whoever comes late has a snapshot, and goes on from there.
    const again = folded(ops, (draft) => JSON.parse(JSON.stringify(draft)) as Streaming);
    deepEqual(again, [draft, failed]);
  });
}
