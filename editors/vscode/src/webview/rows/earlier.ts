// What stands for messages that are not here yet. Drawn means that somebody is near: then some of them are asked for.

import type { EarlierRow } from "../../view.ts";
import { button, el, tokens } from "../dom.ts";
import type { Desk } from "../desk.ts";

export function drawEarlier(desk: Desk, { messages }: EarlierRow): HTMLElement {
  const words = `${tokens(messages)} earlier ${messages === 1 ? "message" : "messages"}`;
  desk.post({ type: "earlier", all: false });
  return el(
    "div",
    { class: "row earlier", aria: { label: words } },
    el("span", { class: "note" }, words),
    button("Show all", () => desk.post({ type: "earlier", all: true }), { title: "Reads the session to its beginning" }),
  );
}
