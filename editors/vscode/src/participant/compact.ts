// Compacts on request in the editor's chat. Imports no editor.

import { type ContextCompactResult, isProtocolError, type Model, type Turn } from "@threadhold/client";
import type { Requester } from "./loop.ts";

/** A manual compaction in the editor's chat. */
export interface CompactRequest {
  /** The turns that the chat shows. */
  history: Turn[];
  /** Whose window it is, and who sums up. */
  model: Model;
  /** Focus of the summary; may be empty. */
  focus: string;
  signal: AbortSignal;
  onProgress: (message: string) => void;
}

/** Brings the session in line with the chat, and compacts it. Its metadata is to be persisted with the answer. */
export async function compactNow(
  session: Requester,
  { history, model, focus, signal, onProgress }: CompactRequest,
): Promise<ContextCompactResult> {
  try {
    await session.request("prompt/render", { history, model, summarize: "never" });
  } catch (error) {
    // The history is taken in, and too large: that is what is mended now.
    if (!isProtocolError(error, "BudgetExceeded")) throw error;
  }
  return session.request("context/compact", focus === "" ? {} : { focus }, { signal, onProgress });
}
