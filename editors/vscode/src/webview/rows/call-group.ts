// A run of calls that only looked at things, drawn as one row that expands to its calls.

import type { CallGroupRow } from "../../shared/view.ts";
import type { PanelContext } from "../context.ts";
import { el, foldable } from "../dom.ts";
import { drawCall } from "./call.ts";

/** Under which it is noted that a group is expanded. */
export function groupKey({ id }: CallGroupRow): string {
  return `${id}/group`;
}

export function drawCallGroup(panel: PanelContext, row: CallGroupRow): HTMLElement {
  const { title, running, failed, shortened, calls } = row;
  const state = running ? "running" : failed === calls.length ? "failed" : "done";
  const stands = [
    running ? "running" : "",
    failed > 0 ? `${failed} failed` : "",
    shortened > 0 ? `${shortened} shortened in the prompt` : "",
  ]
    .filter((word) => word !== "")
    .join(", ");
  const element = el("div", { class: `row call group ${state}`, aria: { label: stands === "" ? title : `${title}: ${stands}` } });
  const details = foldable(panel.open, groupKey(row), "", () => calls.map((call) => drawCall(panel, call)), "card");
  details
    .querySelector("summary")
    ?.append(
      el("span", { class: `dot ${state}`, aria: { hidden: true } }),
      el("span", { class: "about" }, title),
      el("span", { class: "stands" }, stands),
    );
  element.append(details);
  return element;
}
