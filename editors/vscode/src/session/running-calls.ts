// Calls that run in this window, and the end of what they print, for their rows until the result is there.

import { lastCharacters } from "../shared/terminal-text.ts";

/** Characters that are kept of a command. */
const MOST_CHARACTERS = 4_000;

/** A call that runs here. */
export interface RunningCall {
  sessionId: string;
  /** The numbering of events when it began: another one says that the sidecar that asked for it is gone. */
  stream: string | undefined;
  stop: AbortController;
}

export class LiveOutputs {
  readonly #texts = new Map<string, string>();
  /** Is told of the call that printed something. */
  onPrinted: (callId: string) => void = () => undefined;

  /** The end of what a call printed so far; undefined if it printed nothing or is over. */
  of(callId: string): string | undefined {
    return this.#texts.get(callId);
  }

  add(callId: string, printed: string): void {
    this.#texts.set(callId, lastCharacters((this.#texts.get(callId) ?? "") + printed, MOST_CHARACTERS));
    this.onPrinted(callId);
  }

  /** Forgets a call that is over. */
  end(callId: string): void {
    this.#texts.delete(callId);
  }
}
