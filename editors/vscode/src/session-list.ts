// The sessions of the folder, as the panel lists them: a page at a time, found by words, kept up when they change.

import type { Chat } from "./chat.ts";
import type { Backend } from "./backend.ts";
import type { SessionSummary } from "@threadhold/client";
import type { SessionItem, SessionList } from "./view.ts";

const ORIGINS: Partial<Record<SessionSummary["origin"], string>> = {
  rewind: "as it stood before a change",
  branch: "a branch",
  background: "in the background",
};

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

  /** What is listed; missing where the list is closed. */
  get shown(): SessionList | undefined {
    return this.#shown;
  }

  close(): void {
    this.#shown = undefined;
    this.#changed();
  }

  /** Lists those that have these words; more of them goes on where the list ends. */
  async list(query: string, more: boolean): Promise<void> {
    const { folder } = this.#chat;
    if (folder === undefined) throw new Error("No folder is open. Sessions belong to a folder.");
    const asked = (this.#asked += 1);
    const before = more ? (this.#shown?.items ?? []) : [];
    this.#shown = { query, items: more ? before : (this.#shown?.items ?? []), more: false, loading: true };
    this.#changed();
    const client = await this.#backend.client();
    const page = await client.request("session/list", {
      workspaceFolder: folder.uri.fsPath,
      ...(query !== "" && { query }),
      ...(more && this.#cursor !== undefined && { cursor: this.#cursor }),
    });
    // A later question has the newer answer; and the list may be closed by now.
    if (asked !== this.#asked || this.#shown === undefined) return;
    this.#cursor = page.nextCursor;
    const items = page.sessions.map((session) => this.#item(session));
    this.#shown = { query, items: [...before, ...items], more: page.nextCursor !== undefined, loading: false };
    this.#changed();
  }

  /** Something changed: what is shown is read again. */
  async refresh(): Promise<void> {
    if (this.#shown !== undefined) await this.list(this.#shown.query, false);
  }

  #item({ sessionId, title, updatedAt, messages, summarizedCount, state, origin, driver }: SessionSummary): SessionItem {
    const from = [...(driver === "editor" ? ["in the editor's chat"] : []), ORIGINS[origin] ?? []].flat().join(", ");
    return {
      sessionId,
      title: title ?? "Untitled session",
      updatedAt: new Date(updatedAt).toLocaleString(undefined, { dateStyle: "short", timeStyle: "short" }),
      messages,
      summarized: summarizedCount,
      current: sessionId === this.#chat.session?.id,
      ...(state !== undefined && state !== "idle" && state !== "completed" && { state }),
      ...(from !== "" && { origin: from }),
    };
  }
}
