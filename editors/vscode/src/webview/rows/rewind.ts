// The question before a part of the conversation is taken away: the files that changed in it, which of them are restored,
// and what nobody can restore.

import { OTHERS } from "../../shared/others.ts";
import type { RewindFile, RewindGoal, RewindRow } from "../../shared/view.ts";
import { visible } from "../../shared/visible.ts";
import type { PanelContext } from "../context.ts";
import { button, el, icon } from "../dom.ts";

const TITLES: Record<RewindGoal, string> = {
  rewind: "Rewind to here?",
  askAgain: "Ask again from here?",
  answerAgain: "Answer again?",
};

const VERB: Record<RewindGoal, string> = { rewind: "Rewind", askAgain: "Ask Again", answerAgain: "Answer Again" };

const HOW: Record<RewindFile["how"], string | undefined> = {
  restore: undefined,
  create: "deleted since then; will be recreated",
  delete: "created by the agent; will be deleted",
};

export function drawRewind(panel: PanelContext, row: RewindRow): HTMLElement {
  const title = TITLES[row.goal];
  // What somebody else did is not overwritten unless the user says so.
  const chosen = panel.chosen.get(row.id) ?? new Set(row.files.flatMap(({ path, others }) => (others === undefined ? [path] : [])));
  panel.chosen.set(row.id, chosen);
  const card = el("div", { class: "card" }, el("div", { class: "head" }, icon("undo"), el("strong", {}, title)));
  if (row.files.length > 0) {
    card.append(el("div", { class: "label" }, "Files changed by the agent. Select the files to restore:"));
    card.append(el("ul", { class: "changes" }, ...row.files.map((file) => drawFile(panel, row, file, chosen))));
  }
  if (row.lost.length > 0) {
    card.append(el("div", { class: "label" }, "Cannot be restored:"));
    const items = row.lost.map(({ what, why }) => el("li", {}, el("span", { class: "name" }, what), el("span", { class: "note" }, why)));
    card.append(el("ul", { class: "changes lost", tabIndex: 0, aria: { label: "Cannot be restored" } }, ...items));
  }
  card.append(el("div", { class: "note" }, "The current conversation is kept as a version of this session."));
  card.append(el("div", { class: "buttons", role: "group", aria: { label: title } }, ...buttons(panel, row, chosen)));
  const drawn = el("div", { class: "row rewind", aria: { label: title } }, card);
  drawn.addEventListener("keydown", (event) => {
    if (event.key === "Escape") panel.post({ type: "rewindNot" });
  });
  return drawn;
}

function drawFile(panel: PanelContext, row: RewindRow, { path, how, others }: RewindFile, chosen: Set<string>): HTMLElement {
  const box = el("input", { data: { key: `${row.id}/${path}` }, aria: { label: `Restore ${visible(path)}` } });
  box.type = "checkbox";
  box.checked = chosen.has(path);
  box.addEventListener("change", () => {
    if (box.checked) chosen.add(path);
    else chosen.delete(path);
    panel.redraw(row.id);
  });
  const name = `${how === "delete" ? "Show contents of" : "Show changes in"} ${visible(path)}`;
  const show = button("Show", () => panel.post({ type: "rewindDiff", path }), { name, key: `${row.id}/${path}/diff` });
  const words = el(
    "div",
    { class: "about" },
    el("span", { class: "name" }, visible(path)),
    HOW[how] !== undefined && el("span", { class: "note" }, HOW[how]),
  );
  if (others !== undefined) words.append(el("span", { class: "note warning" }, OTHERS[others]));
  return el("li", {}, box, words, show);
}

function buttons(panel: PanelContext, { goal, files }: RewindRow, chosen: Set<string>): HTMLElement[] {
  const verb = VERB[goal];
  const count = chosen.size === 1 ? "1 File" : `${chosen.size} Files`;
  const go = (restore: string[]): void => panel.post({ type: "rewindWith", restore });
  const without = files.length === 0 ? verb : `${verb} Without Restoring`;
  return [
    ...(chosen.size > 0 ? [button(`Restore ${count} and ${verb}`, () => go([...chosen]), { class: "primary", key: "go" })] : []),
    button(without, () => go([]), { key: "leave", ...(chosen.size === 0 && { class: "primary" }) }),
    button("Cancel", () => panel.post({ type: "rewindNot" }), { title: "Cancel (Escape)" }),
  ];
}
