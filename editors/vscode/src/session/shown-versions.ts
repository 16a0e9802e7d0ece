// Versions of the messages of the session that is shown, found whenever it comes to rest.

import type { Session } from "@threadhold/client";
import { isBusy } from "../panel/frame.ts";
import { errorText } from "../shared/text.ts";
import type { MessageVersions } from "../shared/versions.ts";
import type { Backend } from "./backend.ts";
import type { Chat } from "./chat.ts";
import { Versions } from "./versions.ts";

export class ShownVersions {
  readonly #chat: Chat;
  readonly #backend: Backend;
  readonly #warn: (text: string) => void;
  #shown: { session: Session; versions: Versions } | undefined;

  constructor(chat: Chat, backend: Backend, warn: (text: string) => void) {
    this.#chat = chat;
    this.#backend = backend;
    this.#warn = warn;
  }

  /** Versions by the id of the message whose row shows them. */
  get of(): ReadonlyMap<string, MessageVersions> {
    return (this.#shown?.session === this.#chat.session ? this.#shown?.versions.of : undefined) ?? new Map();
  }

  /** Finds them, if the session is at rest and its messages are others. */
  async find(): Promise<void> {
    const { session } = this.#chat;
    if (session === undefined) return;
    const { snapshot } = session.view;
    // An empty one may be about to get its messages.
    const isAtRest = session.freshness === "live" && !isBusy(snapshot) && snapshot.heldBy === undefined;
    if (!isAtRest || snapshot.messages.length === 0) return;
    if (this.#shown?.session !== session) this.#shown = { session, versions: new Versions(this.#sourceOf(session)) };
    try {
      const isOther = await this.#shown.versions.find(snapshot.messages, (snapshot.earlierMessages ?? 0) > 0);
      if (isOther && session === this.#chat.session) this.#chat.changed();
    } catch (error) {
      this.#warn(`versions of messages: ${errorText(error)}`);
    }
  }

  #sourceOf(session: Session): ConstructorParameters<typeof Versions>[0] {
    return {
      revisions: async (limit) => (await session.request("session/history", { limit })).revisions,
      messageAt: async (sessionId, ord) => {
        const client = await this.#backend.client();
        const { messages } = await client.request("session/messages", { sessionId, before: ord + 1, limit: 1 });
        return messages.at(-1);
      },
    };
  }
}
