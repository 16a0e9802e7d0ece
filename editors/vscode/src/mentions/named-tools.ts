// Tools that a request names behind a `#`: they are offered with it, also where the user did not tick them, and the model is
// asked to use them.

import type { Attachment } from "@threadhold/client";
import { configuration } from "../configuration.ts";
import { toolsNamedIn } from "../shared/mention.ts";
import type { ToolItem } from "../shared/slash.ts";
import { knownTools, offered } from "../tools/toolbox.ts";

/** Tools that are offered to be named. */
const MOST_OFFERED = 12;
/** Characters of a description. */
const MOST_ABOUT = 120;

export class NamedTools {
  /** By session: of its newest request. */
  readonly #named = new Map<string, ReadonlySet<string>>();

  /** The tools that the newest request of a session named. */
  of(sessionId: string): ReadonlySet<string> {
    return this.#named.get(sessionId) ?? new Set();
  }

  /** Notes the tools that a request names, beside those of a turn that still runs, and answers what the model is told. */
  take(sessionId: string, words: string, isBusy: boolean): Attachment[] {
    const named = toolsNamedIn(words, new Set(tools().map(({ name }) => name)));
    this.#named.set(sessionId, new Set([...(isBusy ? this.of(sessionId) : []), ...named]));
    return named.length === 0 ? [] : [{ name: "tools", text: `The user asks you to use these tools: ${named.join(", ")}.` }];
  }
}

/** Tools whose names contain the query, those that begin with it first. */
export function toolsFor(query: string): ToolItem[] {
  const wanted = query.toLowerCase();
  const rank = ({ name }: ToolItem): number => (name.toLowerCase().startsWith(wanted) ? 0 : 1);
  const found = tools().filter(({ name }) => name.toLowerCase().includes(wanted));
  return found.sort((a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : 1)).slice(0, MOST_OFFERED);
}

/** All tools that a request may use. */
function tools(): ToolItem[] {
  const settings = configuration();
  const others = knownTools().filter(({ name }) => !settings.isExcluded(name));
  const all = [...offered(), ...others].map(({ name, description }): [string, ToolItem] => [
    name,
    { name, about: (description ?? "").replace(/\s+/g, " ").slice(0, MOST_ABOUT) },
  ]);
  return [...new Map(all).values()];
}
