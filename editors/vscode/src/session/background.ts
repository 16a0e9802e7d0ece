// Sessions that stay open while another one is shown, so that their answers go on; each is closed once it is idle. Imports
// no editor.

import type { Session, Snapshot } from "@threadhold/client";
import { isBusy } from "../panel/frame.ts";

export class Background {
  readonly #isWanted: (session: Session) => boolean;
  readonly #onChange: (session: Session) => void;
  readonly #ends = new Map<Session, { dispose(): void }[]>();
  readonly #closing = new Map<string, Promise<void>>();

  /** `isWanted` tells a session that is not closed here: it is shown or about to be, or the editor's chat answers in it. */
  constructor(isWanted: (session: Session) => boolean, onChange: (session: Session) => void) {
    this.#isWanted = isWanted;
    this.#onChange = onChange;
  }

  dispose(): void {
    for (const session of [...this.#ends.keys()]) this.forget(session);
  }

  find(sessionId: string): Session | undefined {
    return [...this.#ends.keys()].find(({ id }) => id === sessionId);
  }

  /** Takes a session that is not shown any more: closed at once where it rests, else as soon as it does. */
  async leave(session: Session): Promise<void> {
    if (!this.#ends.has(session)) {
      const follow = (): void => {
        this.#onChange(session);
        void this.#closeAtRest(session);
      };
      this.#ends.set(session, [session.onChange(follow), session.onFreshness(follow)]);
    }
    await this.#closeAtRest(session);
  }

  /** Closes those that rest and were wanted until now. */
  async closeResting(): Promise<void> {
    await Promise.all([...this.#ends.keys()].map((session) => this.#closeAtRest(session)));
  }

  /** A session is shown, or gone: nothing more is done about it here. */
  forget(session: Session): void {
    for (const end of this.#ends.get(session) ?? []) end.dispose();
    this.#ends.delete(session);
  }

  async #closeAtRest(session: Session): Promise<void> {
    if (session.freshness === "closed") return this.forget(session);
    if (session.freshness !== "live" || this.#isWanted(session) || !isAtRest(session.view.snapshot)) return;
    this.forget(session);
    // What cannot be closed ends with the sidecar.
    const closing = session
      .close()
      .catch(() => undefined)
      .finally(() => this.#closing.delete(session.id));
    this.#closing.set(session.id, closing);
    await closing;
  }

  /** Waits until a session is closed that is being closed. */
  async closed(sessionId: string): Promise<void> {
    await this.#closing.get(sessionId);
  }
}

/** True if closing a session takes nothing away that goes on in it. What another window does goes on there. */
function isAtRest(snapshot: Snapshot): boolean {
  const { heldBy, queue, compression } = snapshot;
  return heldBy !== undefined || (!isBusy(snapshot) && queue.length === 0 && !compression.running);
}
