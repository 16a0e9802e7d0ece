// Placeholder for messages that are not loaded yet. Being drawn means that it is nearly in view, so it asks for some.

import type { EarlierRow } from "../../shared/view.ts";
import type { PanelContext } from "../context.ts";
import { button, el, tokens } from "../dom.ts";

export function drawEarlier(panel: PanelContext, { messages }: EarlierRow): HTMLElement {
  const words = `${tokens(messages)} earlier ${messages === 1 ? "message" : "messages"}`;
  panel.post({ type: "earlier", all: false });
  return el(
    "div",
    { class: "row earlier", aria: { label: words } },
    el("span", { class: "note" }, words),
    button("Show All", () => panel.post({ type: "earlier", all: true }), { title: "Loads the whole session" }),
  );
}
