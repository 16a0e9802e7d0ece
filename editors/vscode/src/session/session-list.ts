// The list of sessions: paged, searched by words, refreshed when sessions change.

import type { Client, SessionSummary } from "@threadhold/client";
import type { SessionItem, SessionList } from "../shared/view.ts";
import type { Backend } from "./backend.ts";
import type { Chat } from "./chat.ts";

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
}

export class Sessions {
  readonly #backend: Backend;
  readonly #chat: Chat;
  readonly #changed: () => void;
  #shown: SessionList | undefined;
  #cursor: string | undefined;
  #asked = 0;

  constructor(backend: Backend, chat: Chat, changed: () => void) {
    this.#backend = backend;
    this.#chat = chat;
    this.#changed = changed;
  }

  /** The list; undefined while it is closed. */
  get shown(): SessionList | undefined {
    return this.#shown;
  }

  close(): void {
    this.#shown = undefined;
    this.#changed();
  }

  /** Lists those that have these words; more of them goes on where the list ends. */
  async list(query: string, more: boolean): Promise<void> {
    const before = more ? (this.#shown?.items ?? []) : [];
    await this.#read({ query, before, ...(more && this.#cursor !== undefined && { cursor: this.#cursor }) });
  }

  /** Something changed: what is shown is read again, as far as it is shown. */
  async refresh(): Promise<void> {
    if (this.#shown !== undefined)
      await this.#read({ query: this.#shown.query, before: [], limit: Math.max(PAGE, this.#shown.items.length) });
  }

  async #read({ query, before, limit = PAGE, cursor }: ListRequest): Promise<void> {
    const { folder } = this.#chat;
    if (folder === undefined) throw new Error("No folder is open. Sessions belong to a folder: open a folder, then try again.");
    this.#asked += 1;
    const asked = this.#asked;
    this.#shown = { query, items: this.#shown?.items ?? [], more: false, loading: true };
    this.#changed();
    // A later question has the newer answer; and the list may be closed by now.
    const isAwaited = (): boolean => asked === this.#asked && this.#shown !== undefined;
    try {
      const client = await this.#backend.client();
      const page = await client.request("session/list", {
        workspaceFolder: folder.uri.fsPath,
        limit,
        ...(query !== "" && { query }),
        ...(cursor !== undefined && { cursor }),
      });
      if (!isAwaited()) return;
      this.#cursor = page.nextCursor;
      this.#shown = {
        query,
        items: [...before, ...page.sessions.map((session) => this.#item(session))],
        more: page.nextCursor !== undefined,
        loading: false,
      };
    } finally {
      // What could not be read is not being read any more: what was there stays.
      if (isAwaited() && this.#shown?.loading === true) this.#shown = { ...this.#shown, more: this.#cursor !== undefined, loading: false };
      if (isAwaited()) this.#changed();
    }
  }

  #item({ sessionId, title, updatedAt, messages, summarizedCount, state, origin, driver }: SessionSummary): SessionItem {
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
    };
  }
}
