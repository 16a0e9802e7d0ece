// What the tool servers of the sidecar offer a session: their tools, prompts and resources, as they were listed last.

import type { McpPrompt, McpResource, McpTool, Session } from "@threadhold/client";

/** Sorted by server. */
export interface ServerOffers {
  tools: readonly McpTool[];
  prompts: readonly McpPrompt[];
  resources: readonly McpResource[];
}

/** Of a session without servers. */
export const NO_OFFERS: ServerOffers = { tools: [], prompts: [], resources: [] };

/** The part of a session that lists them. */
export type OfferingSession = Pick<Session, "id" | "request" | "view">;

/** Lists them, once for all who ask at the same time. */
export class ServerListing {
  /** Those of the session that was asked about last. */
  #listed: { sessionId: string; offers: ServerOffers } | undefined;
  #listing: { sessionId: string; offers: Promise<ServerOffers> } | undefined;

  /** As listed last. */
  known(session: OfferingSession | undefined): ServerOffers | undefined {
    return session !== undefined && this.#listed?.sessionId === session.id ? this.#listed.offers : undefined;
  }

  /** Lists them again; servers that do not run are started. */
  async list(session: OfferingSession): Promise<ServerOffers> {
    // The window that writes the session has the servers.
    if (session.view.snapshot.heldBy !== undefined) return NO_OFFERS;
    if (this.#listing?.sessionId !== session.id) {
      const listing = { sessionId: session.id, offers: listed(session) };
      this.#listing = listing;
      const end = (): void => {
        if (this.#listing === listing) this.#listing = undefined;
      };
      void listing.offers.then(end, end);
    }
    const offers = await this.#listing.offers;
    this.#listed = { sessionId: session.id, offers };
    return offers;
  }

  /** As listed last, or now for the first time. */
  async get(session: OfferingSession): Promise<ServerOffers> {
    return this.known(session) ?? this.list(session);
  }
}

async function listed(session: OfferingSession): Promise<ServerOffers> {
  // First, because it starts the servers, whose tools are known then.
  const { prompts, resources } = await session.request("mcp/contents", {});
  const { servers } = await session.request("mcp/list", {});
  const tools = servers.flatMap(({ state, tools }) => (state === "ready" ? tools : []));
  return { tools, prompts, resources };
}
