// The context meter: what is said of learned limits and costs. No editor is needed.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { ContextInspectResult, ContextSize, Snapshot, Spending } from "@threadhold/client";
import { dollars } from "../../src/panel/cost.ts";
import { meterOf } from "../../src/panel/frame.ts";
import type { Meter } from "../../src/shared/meter.ts";

const SIZE: ContextSize = { tokens: 10, limit: 100, tokensUntilCompaction: 50, sections: [], estimator: "o200k" };

/** The meter of an inspection with these fields. */
function inspected(fields: Partial<ContextInspectResult>): Meter {
  const snapshot = { compactions: [], messages: [] } as unknown as Snapshot;
  return meterOf(SIZE, snapshot, { window: 200, estimate: { factor: 1, margin: 0.04 }, ...fields } as ContextInspectResult);
}

const learned = (fields: Partial<ContextInspectResult>) => inspected(fields).learned;

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

test("the context view says what the session cost, and where the figure is from", () => {
  const spent = (spending: Partial<Spending>): string | undefined => {
    const none = { total: {}, answers: {}, summaries: {}, titles: {} };
    return inspected({ spent: { ...none, ...spending } }).spent;
  };
  const table = "2026-11-22";
  assert.deepEqual(
    [
      spent({ total: { incomplete: 3 }, answers: { incomplete: 3 } }),
      spent({ total: { dollars: 0.0123, table }, answers: { dollars: 0.0123, table } }),
      spent({
        total: { dollars: 1.5, reported: true, table, settings: true, incomplete: 1 },
        answers: { dollars: 1.2, reported: true, incomplete: 1 },
        summaries: { dollars: 0.3, table },
        titles: { dollars: 0.00001, settings: true },
        beganLate: true,
      }),
    ],
    [
      undefined,
      "This session cost $0.0123. Computed from the price list of 2026-11-22.",
      "This session cost at least $1.50: answers at least $1.20, summaries $0.3000, titles < $0.0001. Reported by the provider, computed from the prices in your settings, computed from the price list of 2026-11-22. The cost of 1 request is not known in full. Earlier answers are not included.",
    ],
  );
});

test("the share that stays free for errors of the estimate is told", () => {
  assert.equal(inspected({}).margin, 0.04);
});

test("the window says where its size is from", () => {
  const from = (fields: Partial<ContextInspectResult>) => inspected(fields).windowFrom;
  assert.equal(from({}), undefined);
  assert.equal(from({ windowSource: "table" }), "This is known for a model of this name.");
  assert.equal(from({ windowSource: "provider" }), "The provider's list of models states this.");
});

test("amounts have hundredths of cents below a dollar", () => {
  const amounts = [0, 0.00009999, 0.0001, 0.0123, 0.99994, 1, 1234.567];
  assert.deepEqual(amounts.map(dollars), ["$0.00", "< $0.0001", "$0.0001", "$0.0123", "$0.9999", "$1.00", "$1,234.57"]);
});
