// The list of sessions: paged, pinned ones first, searched by words in all that was said, refreshed when sessions change.

import type { Client, FoundSession, SessionHit, SessionSummary } from "@threadhold/client";
import { snippetOf } from "../shared/snippet.ts";
import { authorOf } from "../shared/text.ts";
import type { HitItem, SessionItem, SessionList, SessionMark } from "../shared/view.ts";
import type { Backend } from "./backend.ts";
import type { Chat } from "./chat.ts";
import type { SessionMarks } from "./session-marks.ts";

const ORIGINS: Partial<Record<SessionSummary["origin"], string>> = {
  rewind: "previous version",
  branch: "fork",
  background: "background",
};

/** States worth showing in the list; an idle session shows none. */
const STATES: Partial<Record<NonNullable<SessionSummary["state"]>, string>> = {
  generating: "answering",
  executingTools: "running tools",
  waitingIde: "running tools",
  paused: "waiting for approval",
  waitingUserInput: "waiting for your answer",
  completed: "done",
  error: "failed",
};

/** So many are read at once. */
const PAGE = 50;
/** Between two searches for the same words. */
const SEARCH_AGAIN_MS = 1_000;
/** The most that one search finds. */
const MOST_FOUND = 100;
/** So many are read at once, and so often, to find those that are pinned. */
const PINNED_PAGE = 200;
const MOST_PINNED_PAGES = 25;

/** The ids of all sessions of a folder. */
export async function knownSessions(client: Client, workspaceFolder: string): Promise<Set<string>> {
  const known = new Set<string>();
  for (let cursor: string | undefined; ; ) {
    const page = await client.request("session/list", { workspaceFolder, ...(cursor !== undefined && { cursor }) });
    for (const { sessionId } of page.sessions) known.add(sessionId);
    cursor = page.nextCursor;
    if (cursor === undefined) return known;
  }
}

interface ListRequest {
  query: string;
  /** Items that the new page is appended to. */
  before: SessionItem[];
  limit?: number;
  cursor?: string;
  /** What is shown stays until all is read. */
  isQuiet?: boolean;
}

export class Sessions {
  readonly #backend: Backend;
  readonly #chat: Chat;
  readonly #marks: SessionMarks;
  readonly #changed: () => void;
  /** In the order of the sidecar, with those that are archived. */
  #shown: SessionList | undefined;
  /** Pinned ones that are further down than the list was read. */
  #pinnedBelow: readonly SessionItem[] = [];
  #listsArchived = false;
  #cursor: string | undefined;
  #asked = 0;
  #isRefreshing = false;
  /** Something changed since what is shown was begun to be read. */
  #isStale = false;

  constructor(backend: Backend, chat: Chat, marks: SessionMarks, changed: () => void) {
    this.#backend = backend;
    this.#chat = chat;
    this.#marks = marks;
    this.#changed = changed;
  }

  /** The list; undefined while it is closed. */
  get shown(): SessionList | undefined {
    if (this.#shown === undefined) return undefined;
    const marked = [...this.#pinnedBelow, ...this.#shown.items].map((item): SessionItem => {
      const mark = this.#marks.of(item.sessionId);
      return mark === undefined ? item : { ...item, mark };
    });
    // What is searched for is found wherever it is.
    if (this.#shown.query.trim() !== "") return { ...this.#shown, items: marked };
    const pinned = marked.filter(({ mark }) => mark === "pinned");
    const others = marked.filter(({ mark }) => mark === undefined || (mark === "archived" && this.#listsArchived));
    const hasArchived = this.#marks.all("archived").length > 0;
    return { ...this.#shown, items: [...pinned, ...others], ...(hasArchived && { archived: this.#listsArchived ? "shown" : "hidden" }) };
  }

  /** Pins or archives a session, or takes that back. */
  async mark(sessionId: string, mark: SessionMark, on: boolean): Promise<void> {
    await this.#marks.set(sessionId, mark, on);
    this.#changed();
    await this.refresh();
  }

  /** Forgets a session that was deleted. */
  async forget(sessionId: string): Promise<void> {
    await this.#marks.forget(sessionId);
    await this.refresh();
  }

  /** Lists archived sessions too, or hides them. */
  listArchived(on: boolean): void {
    this.#listsArchived = on;
    this.#changed();
  }

  close(): void {
    this.#shown = undefined;
    this.#changed();
  }

  /** Lists those that have these words; more of them goes on where the list ends. */
  async list(query: string, more: boolean): Promise<void> {
    const before = more ? (this.#shown?.items ?? []) : [];
    await this.#read({ query, before, ...(more && this.#cursor !== undefined && { cursor: this.#cursor }) });
    // Something changed meanwhile.
    if (this.#isStale && !this.#isRefreshing) await this.refresh();
  }

  /** Something changed: what is shown is read again, as far as it is shown, and replaced as a whole. */
  async refresh(): Promise<void> {
    if (this.#isRefreshing || this.#shown?.loading === true) {
      this.#isStale = true;
      return;
    }
    this.#isRefreshing = true;
    try {
      do {
        this.#isStale = false;
        if (this.#shown === undefined) return;
        const { query, items } = this.#shown;
        await this.#read({ query, before: [], limit: Math.max(PAGE, items.length), isQuiet: true });
        // A search reads much, and a session at work changes often.
        if (query.trim() !== "") await new Promise((resolve) => setTimeout(resolve, SEARCH_AGAIN_MS));
      } while (this.#isStale);
    } finally {
      this.#isRefreshing = false;
    }
  }

  async #read({ query, before, limit = PAGE, cursor, isQuiet = false }: ListRequest): Promise<void> {
    const { folder } = this.#chat;
    if (folder === undefined) throw new Error("No folder is open. Sessions belong to a folder: open a folder, then try again.");
    this.#asked += 1;
    const asked = this.#asked;
    if (!isQuiet) {
      this.#shown = { query, items: this.#shown?.items ?? [], more: false, loading: true };
      this.#changed();
    }
    // A later question has the newer answer; and the list may be closed by now.
    const isAwaited = (): boolean => asked === this.#asked && this.#shown !== undefined;
    const items = [...before];
    const most = before.length + limit;
    let next = cursor;
    try {
      const client = await this.#backend.client();
      // A page of a search may be short and still have a successor: what is found so far is shown.
      let loading: boolean;
      do {
        const page = await pageOf(client, folder.uri.fsPath, { query, limit: most - items.length, cursor: next });
        if (!isAwaited()) return;
        items.push(...page.sessions.map(({ session, hits }) => this.#item(session, hits, query)));
        next = page.nextCursor;
        loading = next !== undefined && query.trim() !== "" && items.length < most;
        if (isQuiet && loading) continue;
        this.#cursor = next;
        this.#shown = { query, items: [...items], more: next !== undefined && !loading, loading };
        if (loading) this.#changed();
      } while (loading);
      const below = query.trim() === "" ? await this.#pinnedAfter(client, folder.uri.fsPath, items, next) : [];
      if (isAwaited()) this.#pinnedBelow = below;
    } finally {
      // What could not be read is not being read any more: what was there stays.
      if (isAwaited() && this.#shown?.loading === true) this.#shown = { ...this.#shown, more: this.#cursor !== undefined, loading: false };
      if (isAwaited()) this.#changed();
    }
  }

  /** Pinned sessions that come after those that were read. One that is nowhere was deleted, and is not looked for again. */
  async #pinnedAfter(
    client: Client,
    workspaceFolder: string,
    read: readonly SessionItem[],
    after: string | undefined,
  ): Promise<SessionItem[]> {
    const wanted = new Set(this.#marks.all("pinned"));
    for (const { sessionId } of read) wanted.delete(sessionId);
    const found: SessionItem[] = [];
    let cursor = after;
    for (let pages = 0; wanted.size > 0 && cursor !== undefined && pages < MOST_PINNED_PAGES; pages += 1) {
      const page = await client.request("session/list", { workspaceFolder, cursor, limit: PINNED_PAGE });
      for (const session of page.sessions) if (wanted.delete(session.sessionId)) found.push(this.#item(session, [], ""));
      cursor = page.nextCursor;
    }
    if (cursor === undefined) for (const sessionId of wanted) await this.#marks.forget(sessionId);
    return found;
  }

  #item(session: SessionSummary, hits: readonly SessionHit[], query: string): SessionItem {
    const { sessionId, title, updatedAt, messages, summarizedCount, state, origin, driver } = session;
    const doing = state === undefined ? undefined : STATES[state];
    const from = [...(driver === "editor" ? ["editor chat"] : []), ORIGINS[origin] ?? []].flat().join(", ");
    return {
      sessionId,
      title: title ?? "Untitled session",
      updatedAt: new Date(updatedAt).toLocaleString(undefined, { dateStyle: "short", timeStyle: "short" }),
      messages,
      summarized: summarizedCount,
      current: sessionId === this.#chat.session?.id,
      ...(doing !== undefined && { state: doing }),
      ...(from !== "" && { origin: from }),
      ...(hits.length > 0 && { hits: hits.map((hit) => hitItem(hit, query)) }),
    };
  }
}

interface PageRequest {
  query: string;
  limit: number;
  cursor: string | undefined;
}

/** A page of the list, or of the sessions in which the words of a query were said. */
async function pageOf(
  client: Client,
  workspaceFolder: string,
  { query, limit, cursor }: PageRequest,
): Promise<{ sessions: FoundSession[]; nextCursor?: string }> {
  const params = { workspaceFolder, ...(cursor !== undefined && { cursor }) };
  if (query.trim() !== "") return client.request("session/search", { ...params, query, limit: Math.min(limit, MOST_FOUND) });
  const page = await client.request("session/list", { ...params, limit });
  return { ...page, sessions: page.sessions.map((session) => ({ session, hits: [] })) };
}

function hitItem({ ref, ord, role, excerpt }: SessionHit, query: string): HitItem {
  return { messageId: ref, ord, who: authorOf(role), snippet: snippetOf(excerpt, query) };
}
