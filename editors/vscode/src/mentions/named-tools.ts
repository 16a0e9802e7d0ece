// Tools that a request names behind a `#`: they are offered with it, also where the user did not tick them, and the model is
// asked to use them.

import type { Attachment, McpTool } from "@threadhold/client";
import { configuration } from "../configuration.ts";
import { toolsNamedIn } from "../shared/mention.ts";
import type { ToolItem } from "../shared/slash.ts";
import { knownTools, offered, tokensOf } from "../tools/toolbox.ts";

/** Tools that are offered to be named. */
const MOST_OFFERED = 12;
/** Characters of a description. */
const MOST_ABOUT = 120;
/** The name of a server's tool, as sidecars make them. */
const OF_SERVER = /(?:^|\s)#[\w-]*__/;

export class NamedTools {
  /** By session: of its newest request. */
  readonly #named = new Map<string, ReadonlySet<string>>();

  /** The tools that the newest request of a session named. */
  of(sessionId: string): ReadonlySet<string> {
    return this.#named.get(sessionId) ?? new Set();
  }

  /**
   * Notes the tools that a request names, beside those of a turn that still runs, and answers what the model is told.
   * `ofServers` lists the tools of the sidecar's tool servers.
   */
  async take(sessionId: string, words: string, isBusy: boolean, ofServers: () => Promise<readonly McpTool[]>): Promise<Attachment[]> {
    const servers = OF_SERVER.test(words) ? await ofServers() : [];
    const named = toolsNamedIn(words, new Set([...tools(), ...servers].map(({ name }) => name)));
    this.#named.set(sessionId, new Set([...(isBusy ? this.of(sessionId) : []), ...named]));
    return named.length === 0 ? [] : [{ name: "tools", text: `The user asks you to use these tools: ${named.join(", ")}.` }];
  }
}

/** Tools whose names contain the query, those that begin with it first: those of the editor and of the sidecar's servers. */
export function toolsFor(query: string, ofServers: readonly McpTool[]): ToolItem[] {
  const wanted = query.toLowerCase();
  const servers = ofServers.map(({ name, description, tokens }) => itemOf(name, description, `${tokens.toLocaleString("en-US")} tokens`));
  const rank = ({ name }: ToolItem): number => (name.toLowerCase().startsWith(wanted) ? 0 : 1);
  const found = [...tools(), ...servers].filter(({ name }) => name.toLowerCase().includes(wanted));
  return found.sort((a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : 1)).slice(0, MOST_OFFERED);
}

/** All tools of the editor that a request may use. */
function tools(): ToolItem[] {
  const settings = configuration();
  const others = knownTools().filter(({ name }) => !settings.isExcluded(name));
  const all = [...offered(), ...others].map(({ name, description = "", inputSchema }): [string, ToolItem] => {
    const tokens = tokensOf({ name, description, ...(inputSchema !== undefined && { inputSchema }) });
    return [name, itemOf(name, description, `about ${tokens.toLocaleString("en-US")} tokens`)];
  });
  return [...new Map(all).values()];
}

function itemOf(name: string, description: string, cost: string): ToolItem {
  return { name, about: description.replace(/\s+/g, " ").slice(0, MOST_ABOUT), cost };
}
