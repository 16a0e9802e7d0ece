// The sessions of the folder, over the conversation: found by words, opened, pinned, renamed, archived, deleted.

import type { Frame, HitItem, SessionItem, SessionList, SessionMark } from "../shared/view.ts";
import type { PanelContext } from "./context.ts";
import { button, el, iconButton } from "./dom.ts";
import { drawPart } from "./part.ts";

const SEARCH_DELAY_MS = 150;

export class SessionsView {
  readonly element = el("section", { class: "sessions", aria: { label: "Sessions of this folder" } });
  readonly #panel: PanelContext;
  readonly #search = el("input", { aria: { label: "Search sessions" }, data: { key: "search" } });
  readonly #list = el("ul", {});
  #shown = false;
  #unasked: ReturnType<typeof setTimeout> | undefined;

  constructor(panel: PanelContext) {
    this.#panel = panel;
    this.#search.type = "search";
    this.#search.placeholder = "Search sessions";
    this.#search.addEventListener("input", () => {
      clearTimeout(this.#unasked);
      const query = this.#search.value;
      this.#unasked = setTimeout(() => panel.post({ type: "listSessions", query, more: false }), SEARCH_DELAY_MS);
    });
    this.element.append(
      el(
        "div",
        { class: "head" },
        this.#search,
        iconButton("New Session", "add", () => panel.post({ type: "newSession" })),
        iconButton("Close", "close", () => panel.post({ type: "closeSessions" })),
      ),
      this.#list,
    );
    this.element.addEventListener("keydown", (event) => this.#key(event));
    this.element.hidden = true;
  }

  draw({ sessions }: Frame): void {
    this.element.hidden = sessions === undefined;
    if (sessions === undefined) {
      this.#shown = false;
      return;
    }
    drawPart(this.#list, sessions, () => this.#items(sessions));
    if (this.#shown) return;
    this.#shown = true;
    this.#search.value = sessions.query;
    this.#search.focus();
  }

  #items(sessions: SessionList): Node[] {
    const empty = sessions.loading
      ? sessions.query === ""
        ? "Loading…"
        : "Searching…"
      : sessions.query === ""
        ? "No sessions yet."
        : "No sessions match.";
    const items = sessions.items.length === 0 ? [el("li", { class: "note" }, empty)] : sessions.items.map((item) => this.#item(item));
    if (sessions.loading && sessions.items.length > 0 && sessions.query !== "") items.push(el("li", { class: "note" }, "Searching…"));
    const { archived } = sessions;
    const more = sessions.more && button("Show More", () => this.#panel.post({ type: "listSessions", query: sessions.query, more: true }));
    const toggle =
      archived !== undefined &&
      button(archived === "shown" ? "Hide Archived Sessions" : "Show Archived Sessions", () =>
        this.#panel.post({ type: "listArchived", on: archived !== "shown" }),
      );
    return [...items, ...[more, toggle].flatMap((end) => (end === false ? [] : [el("li", {}, end)]))];
  }

  #item(item: SessionItem): HTMLElement {
    const { sessionId, title, updatedAt, messages, summarized, state, origin, current, mark, hits } = item;
    // What tells sessions of one title apart comes first.
    const count = `${messages} message${messages === 1 ? "" : "s"}`;
    const facts = [mark ?? "", origin ?? "", state ?? "", updatedAt, count, summarized > 0 ? `${summarized} summarized` : ""].filter(
      (fact) => fact !== "",
    );
    const open = button("", () => this.#panel.post({ type: "openSession", sessionId }), {
      class: "open",
      name: `${title}, ${facts.join(", ")}`,
      key: `open ${sessionId}`,
    });
    open.append(el("span", { class: "title" }, title), el("span", { class: "note" }, facts.join(" · ")));
    return el(
      "li",
      { class: current ? "current" : "", aria: { current: current ? "true" : undefined } },
      el(
        "div",
        { class: "session" },
        open,
        this.#mark(item, "pinned", mark === "pinned" ? `Unpin ${title}` : `Pin ${title}`, "pin"),
        this.#mark(item, "archived", mark === "archived" ? `Unarchive ${title}` : `Archive ${title}`, "archive"),
        iconButton(`Rename ${title}`, "edit", () => this.#panel.post({ type: "renameSession", sessionId }), `rename ${sessionId}`),
        iconButton(`Delete ${title}`, "trash", () => this.#panel.post({ type: "deleteSession", sessionId }), `delete ${sessionId}`),
      ),
      ...(hits ?? []).map((hit) => this.#hit(sessionId, hit)),
    );
  }

  #mark({ sessionId, mark: has }: SessionItem, mark: SessionMark, name: string, sign: "pin" | "archive"): HTMLElement {
    const set = (): void => this.#panel.post({ type: "markSession", sessionId, mark, on: has !== mark });
    return iconButton(name, sign, set, `${mark} ${sessionId}`);
  }

  /** A message that was found; opens the session there. */
  #hit(sessionId: string, { messageId, ord, who, snippet }: HitItem): HTMLElement {
    const open = button("", () => this.#panel.post({ type: "openSession", sessionId, at: { messageId, ord } }), {
      class: "hit",
      name: `${who}: ${snippet.text}`,
      key: `hit ${sessionId} ${messageId} ${snippet.text}`,
    });
    const pieces: Node[] = [];
    let at = 0;
    for (const [from, to] of snippet.marks) {
      pieces.push(document.createTextNode(snippet.text.slice(at, from)), el("mark", {}, snippet.text.slice(from, to)));
      at = to;
    }
    open.append(el("span", { class: "line" }, el("span", { class: "note" }, `${who}: `), ...pieces, snippet.text.slice(at)));
    return open;
  }

  #key(event: KeyboardEvent): void {
    if (event.key === "Escape") this.#panel.post({ type: "closeSessions" });
    else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const stops = [this.#search, ...this.#list.querySelectorAll<HTMLElement>("button.open, button.hit")];
      const at = stops.indexOf(document.activeElement as HTMLInputElement);
      const to = stops[Math.min(stops.length - 1, Math.max(0, at + (event.key === "ArrowDown" ? 1 : -1)))];
      to?.focus();
    } else return;
    event.preventDefault();
  }
}
