// The question before a part of the conversation is taken away: the files that changed in it, which of them are restored,
// and what nobody can restore.

import type { RewindFile, RewindGoal, RewindRow } from "../../view.ts";
import { visible } from "../../visible.ts";
import { button, el, icon } from "../dom.ts";
import type { Desk } from "../desk.ts";

const TITLES: Record<RewindGoal, string> = {
  rewind: "Rewind to here?",
  askAgain: "Ask again from here?",
  answerAgain: "Have it answered again?",
};

const DO: Record<RewindGoal, string> = { rewind: "rewind", askAgain: "ask again", answerAgain: "answer again" };

const HOW: Record<RewindFile["how"], string | undefined> = {
  restore: undefined,
  create: "is gone by now; it is written again",
  delete: "the agent made it; it is deleted",
};

/** Whose changes would be lost. */
const OTHERS: Record<NonNullable<RewindFile["others"]>, string> = {
  since: "Changed since by somebody else: that would be lost.",
  between: "Somebody else changed it between the agent's changes: that would be lost.",
  unsaved: "It has changes that are not saved: they would be lost.",
  unknown: "Whether somebody else changed it since is not known.",
};

export function drawRewind(desk: Desk, row: RewindRow): HTMLElement {
  const title = TITLES[row.goal];
  // What somebody else did is not overwritten unless the user says so.
  const chosen = desk.chosen.get(row.id) ?? new Set(row.files.flatMap(({ path, others }) => (others === undefined ? [path] : [])));
  desk.chosen.set(row.id, chosen);
  const card = el("div", { class: "card" }, el("div", { class: "head" }, icon("undo"), el("strong", {}, title)));
  if (row.files.length > 0) {
    card.append(el("div", { class: "label" }, "Changed since by the agent. Restore:"));
    card.append(el("ul", { class: "changes" }, ...row.files.map((file) => drawFile(desk, row, file, chosen))));
  }
  if (row.lost.length > 0) {
    card.append(el("div", { class: "label" }, "Cannot be restored:"));
    const items = row.lost.map(({ what, why }) => el("li", {}, el("span", { class: "name" }, what), el("span", { class: "note" }, why)));
    card.append(el("ul", { class: "changes lost", tabIndex: 0, aria: { label: "Cannot be restored" } }, ...items));
  }
  card.append(el("div", { class: "note" }, "The conversation as it stands is kept among the sessions of this folder."));
  card.append(el("div", { class: "buttons", role: "group", aria: { label: title } }, ...buttons(desk, row, chosen)));
  const drawn = el("div", { class: "row rewind", aria: { label: title } }, card);
  drawn.addEventListener("keydown", (event) => {
    if (event.key === "Escape") desk.post({ type: "rewindNot" });
  });
  return drawn;
}

function drawFile(desk: Desk, row: RewindRow, { path, how, others }: RewindFile, chosen: Set<string>): HTMLElement {
  const box = el("input", { data: { key: `${row.id}/${path}` }, aria: { label: `Restore ${visible(path)}` } });
  box.type = "checkbox";
  box.checked = chosen.has(path);
  box.addEventListener("change", () => {
    if (box.checked) chosen.add(path);
    else chosen.delete(path);
    desk.redraw(row.id);
  });
  const name = `${how === "delete" ? "Show what is in" : "Show what changes in"} ${visible(path)}`;
  const show = button("Show", () => desk.post({ type: "rewindDiff", path }), { name, key: `${row.id}/${path}/diff` });
  const words = el("div", { class: "about" }, el("span", { class: "name" }, visible(path)), HOW[how] !== undefined && el("span", { class: "note" }, HOW[how]));
  if (others !== undefined) words.append(el("span", { class: "note warning" }, OTHERS[others]));
  return el("li", {}, box, words, show);
}

function buttons(desk: Desk, { goal, files }: RewindRow, chosen: Set<string>): HTMLElement[] {
  const what = DO[goal];
  const capital = what.charAt(0).toUpperCase() + what.slice(1);
  const count = chosen.size === 1 ? "1 file" : `${chosen.size} files`;
  const go = (restore: string[]): void => desk.post({ type: "rewindWith", restore });
  const without = files.length === 0 ? capital : `${capital}, leave the files`;
  return [
    ...(chosen.size > 0 ? [button(`Restore ${count}, ${what}`, () => go([...chosen]), { class: "primary", key: "go" })] : []),
    button(without, () => go([]), { key: "leave", ...(chosen.size === 0 && { class: "primary" }) }),
    button("Cancel", () => desk.post({ type: "rewindNot" }), { title: "Cancel (Escape)" }),
  ];
}
