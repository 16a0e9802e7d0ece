// The bar that says what waits for a decision, wherever the conversation is scrolled to. What allows several calls at once
// lists each of them first, whole.

import type { CallRow, Frame } from "../shared/view.ts";
import { visible } from "../shared/visible.ts";
import type { PanelContext } from "./context.ts";
import { button, el } from "./dom.ts";
import { drawPart } from "./part.ts";
import { drawArguments } from "./rows/arguments.ts";

export class Decisions {
  readonly element = el("div", { class: "decisions" });
  readonly #panel: PanelContext;
  readonly #rowOf: (callId: string) => CallRow | undefined;
  readonly #show: (callId: string) => void;
  #asked: readonly string[] = [];
  #isListing = false;

  constructor(panel: PanelContext, rowOf: (callId: string) => CallRow | undefined, show: (callId: string) => void) {
    this.#panel = panel;
    this.#rowOf = rowOf;
    this.#show = show;
    this.element.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.#isListing) this.#list(false);
    });
  }

  draw({ asked }: Frame): void {
    // Another list than the one that is looked at begins closed.
    if (asked.join() !== this.#asked.join()) this.#isListing = false;
    this.#asked = asked;
    this.#draw();
  }

  #draw(): void {
    drawPart(this.element, [this.#asked, this.#isListing], () =>
      this.#asked.length === 0 ? [] : this.#isListing ? [this.#all()] : this.#bar(this.#asked),
    );
  }

  #bar([first = "", ...others]: readonly string[]): HTMLElement[] {
    const many = others.length > 0;
    return [
      el("span", { role: "status" }, many ? `${others.length + 1} calls require approval` : "Approval required"),
      button("Show", () => this.#show(first)),
      ...(many ? [button("Allow All…", () => this.#list(true))] : []),
    ];
  }

  /** Approves exactly the listed calls, and none that arrived since. */
  #all(): HTMLElement {
    const rows = this.#asked.flatMap((callId) => this.#rowOf(callId) ?? []);
    const allow = (): void => this.#panel.post({ type: "decide", callIds: rows.map(({ callId }) => callId), decision: "allowOnce" });
    return el(
      "div",
      { class: "all", role: "group", aria: { label: "Allow All" } },
      el(
        "div",
        { class: "list", tabIndex: 0, role: "list", aria: { label: `${rows.length} calls` } },
        ...rows.map((row) =>
          el("div", { class: "listed", role: "listitem" }, el("div", { class: "name" }, visible(row.name)), drawArguments(row)),
        ),
      ),
      el(
        "div",
        { class: "buttons" },
        button(`Allow These ${rows.length} Calls`, allow, { class: "primary" }),
        button("Cancel", () => this.#list(false), { title: "Cancel (Escape)" }),
      ),
    );
  }

  /** Opens the list, with the focus on it and not on what allows: the same key pressed twice allows nothing. */
  #list(isListing: boolean): void {
    this.#isListing = isListing;
    this.#draw();
    this.element.querySelector<HTMLElement>(isListing ? ".list" : '[data-key="Allow All…"]')?.focus();
  }
}
