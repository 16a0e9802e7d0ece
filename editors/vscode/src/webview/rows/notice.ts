// A sentence with what can be done about it, drawn as a row or above the conversation.

import type { NoticeRow } from "../../shared/view.ts";
import type { PanelContext } from "../context.ts";
import { button, el, icon } from "../dom.ts";

export function drawNotice(panel: PanelContext, { level, text, detail, actions }: NoticeRow): HTMLElement {
  return el(
    "div",
    { class: `row notice ${level}`, ...(level === "error" && { role: "alert" }), aria: { label: text } },
    el(
      "div",
      { class: "card" },
      el("div", { class: "head" }, level === "info" ? undefined : icon("warn"), el("span", {}, text)),
      detail !== undefined && el("div", { class: "words detail", tabIndex: 0 }, detail),
      actions.length > 0 && el("div", { class: "buttons" }, ...actions.map(({ label, action }) => button(label, () => panel.post(action)))),
    ),
  );
}
