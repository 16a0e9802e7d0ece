// Versions of messages: what edits and repeated requests replaced, found by comparing the session's revisions with the
// session as it is. No editor here.

import type { Message, Revision, RevisionCause } from "@threadhold/client";
import { textIn } from "../panel/conversation.ts";
import type { MessageVersions } from "../shared/versions.ts";

/** Revisions that are compared, the newest. */
const MOST_REVISIONS = 40;

/** Causes after which the same place of the conversation has another message. */
const CAUSES: ReadonlySet<RevisionCause> = new Set<RevisionCause>(["edit", "retry", "truncate", "restore"]);

/** A message of a revision, as far as it is compared. */
export type Compared = Pick<Message, "id" | "createdAt">;

/** What versions are read from. */
export interface VersionSource {
  /** The newest revisions, newest first. */
  revisions(limit: number): Promise<readonly Revision[]>;
  /** The last message of a revision up to an ord. */
  messageAt(revisionId: string, ord: number): Promise<Compared | undefined>;
}

/** A version of a place in the conversation: the session as it is, or a revision. */
interface Version extends Compared {
  revisionId?: string;
}

/** Finds the versions of a session's messages, and keeps what it read of revisions, which never change. */
export class Versions {
  readonly #source: VersionSource;
  readonly #read = new Map<string, Promise<Compared | undefined>>();
  #of = new Map<string, MessageVersions>();
  /** What `of` was found for. */
  #key = "";

  constructor(source: VersionSource) {
    this.#source = source;
  }

  /** Versions by the id of the message whose row shows them. The same object as long as it says the same. */
  get of(): ReadonlyMap<string, MessageVersions> {
    return this.#of;
  }

  /** Finds them for these messages, which are in order and without gaps. True if `of` was made anew. */
  async find(messages: readonly Message[], hasEarlier: boolean): Promise<boolean> {
    const key = JSON.stringify([messages.at(0)?.id, messages.at(-1)?.id, messages.length, hasEarlier]);
    if (key === this.#key) return false;
    this.#key = key;
    const places = new Map<number, Map<string, Version>>();
    for (const { revisionId, cause } of await this.#source.revisions(MOST_REVISIONS)) {
      if (!CAUSES.has(cause)) continue;
      const at = await this.#branch(revisionId, messages, hasEarlier);
      const here = at === undefined ? undefined : messages[at];
      const own = here && (await this.#messageAt(revisionId, here.ord));
      if (at === undefined || here === undefined || own === undefined || own.id === messages[at - 1]?.id) continue;
      const place = places.get(at) ?? new Map<string, Version>([[here.id, here]]);
      places.set(at, place);
      // Of several revisions with the same message there, the newest has the most behind it.
      if (!place.has(own.id)) place.set(own.id, { ...own, revisionId });
    }
    if (key !== this.#key) return false;
    const found = new Map<string, MessageVersions>();
    for (const [at, place] of places) {
      const row = rowOf(messages, at);
      if (row !== undefined) found.set(row, versionsOf([...place.values()], messages[at]?.id));
    }
    for (const [id, made] of found) {
      const known = this.#of.get(id);
      if (JSON.stringify(known) === JSON.stringify(made) && known !== undefined) found.set(id, known);
    }
    this.#of = found;
    return true;
  }

  /** Where a revision first has another message; undefined where it has none, or where that is not loaded. */
  async #branch(revisionId: string, messages: readonly Message[], hasEarlier: boolean): Promise<number | undefined> {
    let [shared, last] = [-1, messages.length - 1];
    while (shared < last) {
      const middle = Math.ceil((shared + last) / 2);
      const { id, ord } = messages[middle] ?? { id: "", ord: 0 };
      if ((await this.#messageAt(revisionId, ord))?.id === id) shared = middle;
      else last = middle - 1;
    }
    return shared === messages.length - 1 || (shared === -1 && hasEarlier) ? undefined : shared + 1;
  }

  #messageAt(revisionId: string, ord: number): Promise<Compared | undefined> {
    const key = `${revisionId} ${ord}`;
    const read = this.#read.get(key) ?? this.#source.messageAt(revisionId, ord);
    this.#read.set(key, read);
    return read;
  }
}

function versionsOf(place: readonly Version[], current: string | undefined): MessageVersions {
  const time = ({ createdAt, id }: Version): string => `${createdAt ?? ""} ${id}`;
  const versions = [...place].sort((a, b) => (time(a) < time(b) ? -1 : 1));
  const at = versions.findIndex(({ id }) => id === current);
  const [previous, next] = [versions[at - 1]?.revisionId, versions[at + 1]?.revisionId];
  return { at: at + 1, count: versions.length, ...(previous !== undefined && { previous }), ...(next !== undefined && { next }) };
}

/** The message whose row shows the versions of a place: the request itself, or the last answer of its turn. */
function rowOf(messages: readonly Message[], at: number): string | undefined {
  const { role, id, turnId } = messages[at] ?? {};
  if (role === "user") return id;
  const turn = messages.slice(at).filter((message) => message.turnId === turnId);
  return turn.findLast((message) => message.role === "assistant" && textIn(message.parts).text !== "")?.id;
}
