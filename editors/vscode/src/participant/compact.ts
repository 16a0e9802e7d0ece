// A compaction that the user of the editor's chat asks for, of a session as the chat shows it. Knows no editor; what is
// persisted of it is metadata.ts's.

import { type ContextCompactResult, isProtocolError, type Model, type Turn } from "@threadhold/client";
import type { Asks } from "./loop.ts";

/** What is to be compacted, and how. */
export interface Wanted {
  /** The turns that the chat shows. */
  history: Turn[];
  /** Whose window it is, and who sums up. */
  model: Model;
  /** What the summary must not lose; may be empty. */
  focus: string;
  signal: AbortSignal;
  onProgress: (message: string) => void;
}

/** Brings the session in line with the chat, and compacts it. Its metadata is to be persisted with the answer. */
export async function compactNow(session: Asks, { history, model, focus, signal, onProgress }: Wanted): Promise<ContextCompactResult> {
  try {
    await session.request("prompt/render", { history, model, summarize: "never" });
  } catch (error) {
    // The history is taken in, and too large: that is what is mended now.
    if (!isProtocolError(error, "BudgetExceeded")) throw error;
  }
  return session.request("context/compact", focus === "" ? {} : { focus }, { signal, onProgress });
}
