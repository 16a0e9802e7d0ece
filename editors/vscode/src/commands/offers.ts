// What the composer offers while a command, a mention or a tool is being typed: at once what is known, and again what the tool
// servers list.

import type * as vscode from "vscode";
import { mentions } from "../mentions/mentions.ts";
import { toolsFor } from "../mentions/named-tools.ts";
import { promptFiles } from "../mentions/prompt-files.ts";
import { resourcesFor } from "../mentions/resources.ts";
import { NO_OFFERS, type ServerOffers } from "../mentions/server-offers.ts";
import type { Place } from "../panel/place.ts";
import type { Chat } from "../session/chat.ts";
import { errorText } from "../shared/text.ts";
import { itemOf } from "./prompts.ts";

interface OfferContext {
  chat: Pick<Chat, "folder" | "ready" | "session" | "servers">;
  place: Pick<Place, "offer">;
  log: Pick<vscode.LogOutputChannel, "warn">;
}

/** Offers the prompts of the workspace and of tool servers. */
export async function offerPrompts(context: OfferContext): Promise<void> {
  const { chat, place } = context;
  if (chat.folder === undefined) return;
  const files = await promptFiles(chat.folder.uri);
  const offer = ({ prompts }: ServerOffers): void => place.offer({ type: "prompts", items: [...files, ...prompts.flatMap(itemOf)] });
  offer(chat.servers.known(chat.session) ?? NO_OFFERS);
  offer(await listed(context, true));
}

/** Offers what a mention may mean. */
export async function offerMentions(context: OfferContext, query: string): Promise<void> {
  const { chat, place } = context;
  if (chat.folder === undefined) return;
  const resources = async () => resourcesFor(query, await listed(context, query === ""));
  await mentions(chat.folder.uri, resources, query, (items) => place.offer({ type: "mentions", query, items }));
}

/** Offers tools for what is typed of a name. */
export async function offerTools(context: OfferContext, query: string): Promise<void> {
  const { chat, place } = context;
  const offer = ({ tools }: ServerOffers): void => place.offer({ type: "tools", query, items: toolsFor(query, tools) });
  offer(chat.servers.known(chat.session) ?? NO_OFFERS);
  offer(await listed(context, query === ""));
}

/** What the servers of the session offer, listed anew where something begins to be typed. Nothing where they cannot be listed. */
async function listed({ chat, log }: OfferContext, anew: boolean): Promise<ServerOffers> {
  try {
    // Something may be typed before the first session is open.
    const session = await chat.ready();
    return await (anew ? chat.servers.list(session) : chat.servers.get(session));
  } catch (error) {
    log.warn(`tool servers: ${errorText(error)}`);
    return NO_OFFERS;
  }
}
