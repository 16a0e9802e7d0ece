// The context meter: a bar with the place where a compaction starts, and on demand the prompt's contents, its pins, and the
// compaction triggers.

import type { Meter } from "../shared/meter.ts";
import type { Frame } from "../shared/view.ts";
import type { PanelContext } from "./context.ts";
import { button, el, icon, iconButton, tokens } from "./dom.ts";
import { drawPart } from "./part.ts";

/** A colour for each channel, as a class of style.css; the words beside it say the same. */
const CHANNELS = ["system", "memory", "summary", "history", "input"];

export class MeterView {
  readonly element: HTMLElement;
  readonly #panel: PanelContext;
  readonly #details = el("details", { class: "meter" });
  readonly #summary = el("summary", { data: { key: "meter" } });
  readonly #body = el("div", { class: "breakdown", role: "group", tabIndex: 0, aria: { label: "Contents of the prompt" } });

  constructor(panel: PanelContext) {
    this.#panel = panel;
    this.#details.append(this.#summary, this.#body);
    this.#details.hidden = true;
    this.element = this.#details;
    this.#details.addEventListener("toggle", () => panel.post({ type: "inspect", open: this.#details.open }));
  }

  /** Shows the details; returns false where there are none yet. */
  show(): boolean {
    if (this.#details.hidden) return false;
    this.#details.open = true;
    this.#summary.focus();
    return true;
  }

  draw({ meter }: Frame): void {
    this.#details.hidden = meter === undefined;
    if (meter === undefined) return;
    const share = Math.round((100 * meter.tokens) / Math.max(1, meter.limit));
    const words = `${tokens(meter.tokens)} of ${tokens(meter.limit)} tokens`;
    drawPart(this.#summary, meter, () => [
      bar(meter),
      el("span", { class: "figures" }, words),
      el("span", { class: "share" }, `${share}%`),
    ]);
    this.#summary.setAttribute(
      "aria-label",
      `${words} in the prompt, ${share}%. About ${tokens(Math.max(0, meter.untilCompaction))} tokens until the next compaction.`,
    );
    if (this.#details.open) drawPart(this.#body, meter, () => this.#breakdown(meter));
  }

  #breakdown(meter: Meter): Node[] {
    const rows = meter.sections
      .filter(({ tokens }) => tokens > 0)
      .map((section) =>
        el(
          "tr",
          {},
          el("td", {}, el("span", { class: `swatch ${section.channel}`, aria: { hidden: true } }), section.name),
          el("td", { class: "number" }, tokens(section.tokens)),
        ),
      );
    const table = el(
      "table",
      {},
      el("caption", {}, "Prompt contents"),
      el("thead", {}, el("tr", {}, el("th", {}, "Section"), el("th", { class: "number" }, "Tokens"))),
      el("tbody", {}, ...rows),
    );
    const nodes: Node[] = [table];
    const until =
      meter.untilCompaction > 0
        ? `About ${tokens(meter.untilCompaction)} tokens until the next compaction.`
        : "The next request may start a compaction.";
    nodes.push(el("p", { class: "note" }, `${until} Counted by ${meter.estimator}.${meter.usage === undefined ? "" : ` ${meter.usage}`}`));
    if (meter.window !== undefined) {
      const spare = meter.margin === undefined || meter.margin === 0 ? "" : ` and ${percent(meter.margin)} for errors of the estimate`;
      const from = meter.windowFrom === undefined ? "" : ` ${meter.windowFrom}`;
      nodes.push(
        el(
          "p",
          { class: "note" },
          `The model's context window is ${tokens(meter.window)} tokens, with space reserved for the answer${spare}.${from}`,
        ),
      );
    }
    if (meter.instructions !== undefined) nodes.push(el("p", { class: "note" }, `Instructions in force: ${meter.instructions}.`));
    if (meter.spent !== undefined) nodes.push(el("p", { class: "note" }, meter.spent));
    if (meter.learned !== undefined) {
      nodes.push(
        el("p", { class: "note" }, meter.learned),
        el(
          "div",
          { class: "buttons" },
          button("Forget Learned Limits", () => this.#panel.post({ type: "forgetLimits" })),
        ),
      );
    }
    if (meter.pins.length > 0) {
      nodes.push(
        el("div", { class: "label" }, "Pinned to every prompt"),
        el(
          "ul",
          { class: "pins" },
          ...meter.pins.map(({ pinId, label, tokens: size }) =>
            el(
              "li",
              {},
              icon("pin"),
              el("span", { class: "words" }, label),
              el("span", { class: "number" }, tokens(size)),
              iconButton("Unpin", "close", () => this.#panel.post({ type: "unpin", pinId }), pinId),
            ),
          ),
        ),
      );
    }
    if (meter.excluded > 0) {
      const [what, it] = meter.excluded === 1 ? ["1 message is", "it"] : [`${meter.excluded} messages are`, "them"];
      nodes.push(el("p", { class: "note" }, `${what} excluded from prompts. To include ${it} again, choose Undo on the card.`));
    }
    if (meter.triggers.length > 0) {
      nodes.push(
        el(
          "table",
          {},
          el("caption", {}, "Compaction triggers"),
          el(
            "thead",
            {},
            el("tr", {}, el("th", {}, "Trigger"), el("th", { class: "number" }, "Now"), el("th", { class: "number" }, "Limit")),
          ),
          el(
            "tbody",
            {},
            ...meter.triggers.map(({ name, now, at }) =>
              el("tr", {}, el("td", {}, name), el("td", { class: "number" }, now), el("td", { class: "number" }, at)),
            ),
          ),
        ),
      );
    }
    return nodes;
  }
}

/** The bar: a piece for each channel, and a mark where a compaction begins. */
function bar(meter: Meter): HTMLElement {
  const frame = el("span", { class: "bar", aria: { hidden: true } });
  for (const channel of CHANNELS) {
    const size = meter.sections.filter((section) => section.channel === channel).reduce((sum, { tokens }) => sum + tokens, 0);
    if (size === 0) continue;
    const piece = el("span", { class: `piece ${channel}` });
    piece.style.width = `${Math.min(100, (100 * size) / Math.max(1, meter.limit))}%`;
    frame.append(piece);
  }
  if (meter.thresholdAt !== undefined) {
    const mark = el("span", { class: "threshold" });
    mark.style.left = `${Math.min(100, 100 * meter.thresholdAt)}%`;
    frame.append(mark);
  }
  return frame;
}

function percent(share: number): string {
  return `${Math.round(1000 * share) / 10}%`;
}
