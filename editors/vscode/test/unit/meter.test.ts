// The context meter: what is said of learned limits. No editor is needed.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { ContextInspectResult, ContextSize, Snapshot } from "@threadhold/client";
import { meterOf } from "../../src/panel/frame.ts";

const SIZE: ContextSize = { tokens: 10, limit: 100, tokensUntilCompaction: 50, sections: [], estimator: "o200k" };

/** What the meter says of an inspection with these fields. */
function learned(fields: Partial<ContextInspectResult>): string | undefined {
  const snapshot = { compactions: [], messages: [] } as unknown as Snapshot;
  return meterOf(SIZE, snapshot, { window: 200, ...fields } as ContextInspectResult).learned;
}

test("a learned limit says where it is from, and how long it holds", () => {
  assert.equal(learned({}), undefined);
  const of = (source: "stated" | "statedWithAnswer" | "guessed", promptsLeft: number) =>
    learned({ learnedLimit: { tokens: 5_000, source, promptsLeft } });
  const holds = "Prompts have at most 5,000 tokens, for";
  assert.deepEqual(
    [of("stated", 31), of("statedWithAnswer", 1), of("guessed", 2)],
    [
      `The provider rejected a prompt and stated its limit. ${holds} 31 more requests or until a larger one is accepted.`,
      `The provider rejected a prompt and stated a limit for prompt and answer together. ${holds} 1 more request or until a larger one is accepted.`,
      `The provider rejected a prompt without stating a limit, so this one is a guess. ${holds} 2 more requests or until a larger one is accepted.`,
    ],
  );
  assert.equal(learned({ learnedAnswerLimit: 300 }), "The provider rejected the length of an answer. Answers have at most 300 tokens.");
});
