// Compactions that the user is asked about before they take effect: those of the session that is shown, and of those that were.

import type { CompactionReviewParams, CompactionReviewResult, Session } from "@threadhold/client";
import { reviewRow } from "../panel/compaction-row.ts";
import type { CompactionRow } from "../shared/view.ts";

interface Review {
  sessionId: string;
  row: CompactionRow;
  answer: (result: CompactionReviewResult | null) => void;
}

export class Reviews {
  readonly #shown: () => Session | undefined;
  readonly #changed: () => void;
  /** By the compaction. */
  readonly #reviews = new Map<string, Review>();

  constructor(shown: () => Session | undefined, changed: () => void) {
    this.#shown = shown;
    this.#changed = changed;
  }

  /** The compaction of the session that is shown that the user is asked about. */
  get shown(): CompactionRow | undefined {
    const id = this.#shown()?.id;
    return [...this.#reviews.values()].find(({ sessionId }) => sessionId === id)?.row;
  }

  /** Asks the user about a compaction, in its place in the conversation. */
  ask({ compaction, dropped, sessionId }: CompactionReviewParams, signal: AbortSignal): Promise<CompactionReviewResult | null> {
    const session = this.#shown();
    // Nobody sees the session here, so nobody can answer.
    if (session?.id !== sessionId) return Promise.resolve(null);
    return new Promise((resolve) => {
      const answer = (result: CompactionReviewResult | null): void => {
        this.#reviews.delete(compaction.id);
        this.#changed();
        resolve(result);
      };
      const row = { ...reviewRow(compaction, dropped.length, session.view.snapshot), rev: 0 };
      this.#reviews.set(compaction.id, { sessionId, row, answer });
      signal.addEventListener("abort", () => answer(null), { once: true });
      this.#changed();
    });
  }

  /** Passes the user's review on to the sidecar. */
  answer(compactionId: string, result: CompactionReviewResult): void {
    this.#reviews.get(compactionId)?.answer(result);
  }
}
