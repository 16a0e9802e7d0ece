// Opens the session of a chat for writing even if another window has it: waits until the answer there is finished, which
// would otherwise be cut off. Imports no editor.

import { type Client, isProtocolError, type Session, type SessionOpenParams } from "@threadhold/client";

/** A request that waits for another window. */
export interface Waiting {
  /** There is something to wait for. What it answers comes when the user waits no longer. */
  begin(): Promise<void>;
  /** The request is taken back. */
  signal: AbortSignal;
}

/** Opens a session for writing. */
export async function openForWriting(client: Client, params: SessionOpenParams, { begin, signal }: Waiting): Promise<Session> {
  try {
    return await client.openSession(params);
  } catch (error) {
    if (!isProtocolError(error, "SessionHeldElsewhere")) throw error;
  }
  const followed = await client.openSession({ ...params, follow: true });
  try {
    if (isAnswering(followed)) await Promise.race([rest(followed, signal), begin()]);
    signal.throwIfAborted();
    await followed.request("session/takeOver", {});
    return await client.openSession(params);
  } catch (error) {
    await followed.close().catch(() => undefined);
    throw error;
  }
}

/** True if a turn is not over. Whose loop the editor runs, its state says nothing of that. */
function isAnswering({ view }: Session): boolean {
  return view.snapshot.turns.at(-1)?.status === "running";
}

/** Waits until nothing runs in a session, or until nobody wants to know. */
function rest(session: Session, signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const look = (): void => {
      if (isAnswering(session) && !signal.aborted) return;
      listening.dispose();
      signal.removeEventListener("abort", look);
      done();
    };
    const listening = session.onChange(look);
    signal.addEventListener("abort", look);
    look();
  });
}
