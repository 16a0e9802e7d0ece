// A long list of which only what can be seen is drawn, with some rows around it: five thousand rounds cost as much as
// fifty. It keeps what the reader looks at where it is, or follows the end while the reader wants that (following.ts): it
// goes there when something grew, and not because of a scroll alone, which may be a screen reader's. What a row looks like
// is not known here.

import { Following } from "./following.ts";

/** Pixels above and below what is seen that are drawn too. */
const AROUND = 500;
/** How tall a row is taken to be before it was drawn once. */
const GUESS = 72;

export interface Item {
  id: string;
  rev: number;
}

export class VirtualList<Of extends Item> {
  readonly element: HTMLElement;
  readonly #draw: (item: Of) => HTMLElement;
  readonly #movesAway: (id: string) => boolean;
  readonly #above = document.createElement("div");
  readonly #below = document.createElement("div");
  /** Between the rows that are seen and the one that has the focus, where that is elsewhere. */
  readonly #between = document.createElement("div");
  readonly #heights = new Map<string, number>();
  readonly #drawn = new Map<string, { element: HTMLElement; rev: number }>();
  readonly #watch: ResizeObserver;
  #items: Of[] = [];
  readonly #following: Following;
  /** Last value passed to `onFollow`. */
  #follows = true;
  #scheduled = false;
  /** Something changed that may have moved the end since the list was last drawn. */
  #hasGrown = true;
  /** Height of the view when it was last drawn. */
  #view = 0;
  #onFollow: (follows: boolean) => void = () => undefined;

  /** A row that moves away, such as one that stands for rows to come, is no place to hold on to. */
  constructor(element: HTMLElement, draw: (item: Of) => HTMLElement, movesAway: (id: string) => boolean) {
    this.element = element;
    this.#draw = draw;
    this.#movesAway = movesAway;
    for (const spacer of [this.#above, this.#below, this.#between]) {
      spacer.setAttribute("aria-hidden", "true");
      spacer.className = "spacer";
    }
    element.append(this.#above, this.#below);
    this.#watch = new ResizeObserver((entries) => this.#resized(entries));
    this.#watch.observe(element);
    this.#following = new Following(element, () => this.#grow());
    element.addEventListener("scroll", () => this.#schedule());
    element.addEventListener("keydown", (event) => this.#move(event));
  }

  get items(): readonly Of[] {
    return this.#items;
  }

  /** How many rows are in the document. */
  get drawn(): number {
    return this.#drawn.size;
  }

  /** Has somebody told whether the end is followed. */
  set onFollow(told: (follows: boolean) => void) {
    this.#onFollow = told;
  }

  /** Has no rows, before all are told anew; those of another conversation are out of the document at once. */
  begin(isOther: boolean): void {
    this.#items = [];
    if (isOther) {
      for (const { element } of this.#drawn.values()) {
        this.#watch.unobserve(element);
        element.remove();
      }
      this.#drawn.clear();
      this.#setRole();
      this.#heights.clear();
      this.toEnd();
    }
    this.#grow();
  }

  /** Takes rows out and puts others in. */
  splice(at: number, remove: number, items: readonly Of[]): void {
    // In pieces, for a call takes only so many arguments.
    this.#items = [...this.#items.slice(0, at), ...items, ...this.#items.slice(at + remove)];
    this.#grow();
  }

  /** The element of a row, where it is drawn. */
  elementOf(id: string): HTMLElement | undefined {
    return this.#drawn.get(id)?.element;
  }

  /** A drawn row was changed in its place. */
  grew(): void {
    this.#grow();
  }

  /** Draws a row again though it is the same, because something about how it is shown changed. */
  redraw(id: string): void {
    const drawn = this.#drawn.get(id);
    if (drawn !== undefined) drawn.rev = Number.NaN;
    this.#grow();
  }

  /** Goes to the end, and follows it. */
  toEnd(): void {
    this.#following.start();
    this.#grow();
  }

  /** Shows a row. */
  reveal(id: string, focus: boolean): void {
    const at = this.#items.findIndex((item) => item.id === id);
    if (at < 0) return;
    this.#following.stop();
    // What was put in just now takes up room first: nothing can be scrolled to before.
    this.#render();
    this.element.scrollTop = Math.max(0, this.#top(at) - AROUND / 4);
    this.#render();
    const element = this.elementOf(id);
    element?.scrollIntoView({ block: "nearest" });
    if (focus) element?.focus();
  }

  #grow(): void {
    this.#hasGrown = true;
    this.#schedule();
  }

  /** Rows are observed from when they are drawn, and told of at once with the height that they were drawn with. */
  #resized(entries: readonly ResizeObserverEntry[]): void {
    const hasChanged = ({ target }: ResizeObserverEntry): boolean => {
      if (target === this.element) return this.element.clientHeight !== this.#view;
      const height = this.#heights.get((target as HTMLElement).dataset["row"] ?? "");
      return height === undefined || Math.abs(target.getBoundingClientRect().height - height) > 0.5;
    };
    if (entries.some(hasChanged)) this.#grow();
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    requestAnimationFrame(() => {
      this.#scheduled = false;
      this.#render();
    });
  }

  #height(item: Of): number {
    return this.#heights.get(item.id) ?? GUESS;
  }

  #top(index: number): number {
    return this.#span(0, index);
  }

  /** How tall the rows are from one up to another. */
  #span(from: number, to: number): number {
    let height = 0;
    for (let at = from; at < to; at += 1) height += this.#height(this.#items[at] as Of);
    return height;
  }

  /** The row that has the focus, and stays. */
  #focused(): number | undefined {
    const row = document.activeElement?.closest<HTMLElement>("[data-row]");
    if (row === null || row === undefined || !this.element.contains(row)) return undefined;
    const at = this.#items.findIndex(({ id }) => id === row.dataset["row"] && !this.#movesAway(id));
    return at < 0 ? undefined : at;
  }

  #isTyping(): boolean {
    const focused = document.activeElement;
    return focused instanceof HTMLTextAreaElement && this.element.contains(focused);
  }

  #render(): void {
    const { element } = this;
    const view = element.clientHeight;
    if (view === 0) return;
    // Whoever types into a row is not taken away from it.
    const follows = this.#following.isOn && !this.#isTyping();
    if (follows !== this.#follows) {
      this.#follows = follows;
      this.#onFollow(follows);
    }
    const goesToEnd = follows && this.#hasGrown;
    if (goesToEnd) this.#hasGrown = false;
    this.#view = view;
    // A row that is seen, and where: it is to stay there.
    const held = goesToEnd ? undefined : this.#held();
    const total = this.#items.reduce((sum, item) => sum + this.#height(item), 0);
    const from = (goesToEnd ? Math.max(0, total - view) : this.#place(held)) - AROUND;
    const to = from + view + 2 * AROUND;
    let first = 0;
    let top = 0;
    while (first < this.#items.length && top + this.#height(this.#items[first] as Of) < from) {
      top += this.#height(this.#items[first] as Of);
      first += 1;
    }
    let last = first;
    let bottom = top;
    while (last < this.#items.length && bottom < to) {
      bottom += this.#height(this.#items[last] as Of);
      last += 1;
    }
    const kept = this.#focused();
    const isApart = kept !== undefined && (kept < first || kept >= last);
    this.#put(first, last, isApart ? kept : undefined);
    this.#above.style.height = `${this.#span(0, isApart ? Math.min(kept, first) : first)}px`;
    let changed = false;
    for (const item of [...this.#items.slice(first, last), ...(isApart ? this.#items.slice(kept, kept + 1) : [])]) {
      const drawn = this.#drawn.get(item.id)?.element;
      const height = drawn?.getBoundingClientRect().height ?? GUESS;
      if (Math.abs(height - this.#height(item)) > 0.5) changed = true;
      this.#heights.set(item.id, height);
    }
    if (isApart) this.#between.style.height = `${kept < first ? this.#span(kept + 1, first) : this.#span(last, kept)}px`;
    this.#below.style.height = `${this.#span(isApart ? Math.max(kept + 1, last) : last, this.#items.length)}px`;
    if (goesToEnd) element.scrollTop = element.scrollHeight;
    else if (element.scrollHeight <= view && !this.#following.isOn) this.toEnd();
    else if (held !== undefined) {
      const now = this.elementOf(held.id)?.getBoundingClientRect().top;
      if (now !== undefined && Math.abs(now - held.top) > 0.5) element.scrollTop += now - held.top;
    }
    // Rows that turned out smaller than thought leave room for more.
    if (!changed) return;
    if (goesToEnd) this.#grow();
    else this.#schedule();
  }

  #held(): { id: string; top: number } | undefined {
    const edge = this.element.getBoundingClientRect().top;
    for (const [id, { element }] of this.#drawn) {
      const box = element.getBoundingClientRect();
      if (box.bottom > edge && !this.#movesAway(id)) return { id, top: box.top };
    }
    return undefined;
  }

  /** Where to draw so that the held row is drawn, also after many were put in above it. */
  #place(held: { id: string; top: number } | undefined): number {
    const { scrollTop, clientHeight } = this.element;
    const at = held === undefined ? -1 : this.#items.findIndex(({ id }) => id === held.id);
    if (held === undefined || at < 0) return scrollTop;
    const place = this.#top(at) - (held.top - this.element.getBoundingClientRect().top);
    return Math.abs(place - scrollTop) > clientHeight ? place : scrollTop;
  }

  /** Has exactly these rows in the document, in their order; and one apart, which has the focus and would lose it. */
  #put(first: number, last: number, apart: number | undefined): void {
    const places = Array.from({ length: last - first }, (_, at) => first + at);
    if (apart !== undefined) places[apart < first ? "unshift" : "push"](apart);
    const wanted = new Set(places.map((at) => this.#items[at]?.id));
    for (const [id, { element }] of this.#drawn) {
      if (wanted.has(id)) continue;
      this.#watch.unobserve(element);
      element.remove();
      this.#drawn.delete(id);
    }
    const ordered = new Map<string, { element: HTMLElement; rev: number }>();
    // Taken out first, so that no row has to be moved around it: one that is moved loses the focus.
    this.#between.remove();
    let before: Element = this.#above;
    for (const at of places) {
      const item = this.#items[at] as Of;
      const { element } = this.#drawnOf(item);
      element.setAttribute("aria-posinset", String(at + 1));
      element.setAttribute("aria-setsize", String(this.#items.length));
      if (before.nextElementSibling !== element) before.after(element);
      before = element;
      ordered.set(item.id, this.#drawn.get(item.id) as { element: HTMLElement; rev: number });
    }
    this.#drawn.clear();
    for (const [id, drawn] of ordered) this.#drawn.set(id, drawn);
    this.#setRole();
    if (apart === undefined) return;
    const element = this.elementOf(this.#items[apart]?.id ?? "");
    if (apart < first) element?.after(this.#between);
    else element?.before(this.#between);
  }

  /** A feed has articles; without them, as while nobody sees it, it is a place and no more. */
  #setRole(): void {
    if (this.#drawn.size === 0) this.element.removeAttribute("role");
    else this.element.setAttribute("role", "feed");
  }

  #drawnOf(item: Of): { element: HTMLElement; rev: number } {
    const old = this.#drawn.get(item.id);
    if (old?.rev === item.rev) return old;
    const element = this.#draw(item);
    element.setAttribute("role", "article");
    element.dataset["row"] = item.id;
    element.tabIndex = -1;
    if (old !== undefined) {
      const focused = document.activeElement;
      const hadFocus = focused !== null && old.element.contains(focused);
      const key = focused instanceof HTMLElement ? focused.dataset["key"] : undefined;
      this.#watch.unobserve(old.element);
      old.element.replaceWith(element);
      // The focus stays in the row, on the same thing where it is still there.
      if (hadFocus) {
        const same = key === undefined ? null : element.querySelector<HTMLElement>(`[data-key="${CSS.escape(key)}"]`);
        (same ?? element).focus();
      }
    }
    // As it is measured, with what stands around its content.
    this.#watch.observe(element, { box: "border-box" });
    const drawn = { element, rev: item.rev };
    this.#drawn.set(item.id, drawn);
    return drawn;
  }

  /** Page up and down go from row to row, Ctrl+Home and Ctrl+End to the ends, as in any feed. */
  #move(event: KeyboardEvent): void {
    const row = (event.target as HTMLElement).closest<HTMLElement>("[data-row]");
    if (row === null || event.altKey || event.metaKey) return;
    const at = this.#items.findIndex(({ id }) => id === row.dataset["row"]);
    const to =
      event.ctrlKey && event.key === "Home"
        ? 0
        : event.ctrlKey && event.key === "End"
          ? this.#items.length - 1
          : !event.ctrlKey && event.key === "PageUp"
            ? at - 1
            : !event.ctrlKey && event.key === "PageDown"
              ? at + 1
              : undefined;
    const item = to === undefined ? undefined : this.#items[to];
    if (item === undefined) return;
    event.preventDefault();
    this.reveal(item.id, true);
    // The very end, however long the last row is.
    if (event.key === "End") this.toEnd();
    else if (event.key === "PageDown") this.#following.goDown();
  }
}
