// Earlier compactions of a stack, drawn as one row that expands to their cards.

import type { CompactionGroupRow } from "../../shared/view.ts";
import type { PanelContext } from "../context.ts";
import { el, foldable, icon } from "../dom.ts";
import { drawCompaction } from "./compaction.ts";

/** Under which it is noted that a group is expanded. */
export function stackKey({ id }: CompactionGroupRow): string {
  return `${id}/stack`;
}

export function drawCompactionGroup(panel: PanelContext, row: CompactionGroupRow): HTMLElement {
  const element = el("div", { class: "row stack", aria: { label: row.title } });
  const details = foldable(panel.open, stackKey(row), "", () => row.cards.map((card) => drawCompaction(panel, card)), "card");
  details.querySelector("summary")?.append(icon("fold"), el("span", {}, row.title));
  element.append(details);
  return element;
}
