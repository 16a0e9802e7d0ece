// Resources of tool servers behind an `@`, by their address or their name.

import { listOf } from "../panel/conversation.ts";
import type { Attachments } from "../session/attachments.ts";
import type { Mentionable, MentionItem } from "../shared/mention.ts";
import type { OfferingSession, ServerOffers } from "./server-offers.ts";

/** Resources that are offered. */
const MOST_RESOURCES = 4;

/** The resources that a query may mean, those whose name or address begins with it first. */
export function resourcesFor(query: string, { resources }: ServerOffers): MentionItem[] {
  const wanted = query.toLowerCase();
  const items = resources
    // An address with a space is no word of the prompt.
    .filter(({ uri }) => !/\s/.test(uri))
    .map(({ server, uri, name, description = "" }): MentionItem => {
      const note = [`resource of ${server}`, description].filter((words) => words !== "").join(" · ");
      return { of: { kind: "resource", server, uri }, path: `${server}:${uri}`, name, note };
    })
    .filter(({ path, name = "" }) => `${path}\n${name}`.toLowerCase().includes(wanted));
  const rank = ({ path, name = "" }: MentionItem): number =>
    path.toLowerCase().startsWith(wanted) || name.toLowerCase().startsWith(wanted) ? 0 : 1;
  return items.sort((one, other) => rank(one) - rank(other)).slice(0, MOST_RESOURCES);
}

/** Reads a resource, and attaches what it is now. */
export async function attachResource(
  attachments: Pick<Attachments, "addResource">,
  session: OfferingSession,
  { server, uri }: Extract<Mentionable, { kind: "resource" }>,
): Promise<void> {
  const { content } = await session.request("mcp/content", { server, uri });
  attachments.addResource(`${server}:${uri}`, listOf(content));
}
