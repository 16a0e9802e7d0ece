// A compaction, drawn as a card where it happened: why, what it stands for, what it left, and what can be done about it.

import type { CompactionRow, Original } from "../../view.ts";
import { button, duration, el, foldable, icon, tokens } from "../dom.ts";
import type { Desk } from "../desk.ts";
import { beginTyping, form, isTyping } from "../form.ts";
import { draw } from "../markdown.ts";

/** How it stands, where that is not "in force". */
const STANDS: Record<CompactionRow["phase"], string> = {
  running: "",
  reviewing: "A compaction waits for your word",
  inForce: "",
  older: "A newer one is in force.",
  undone: "Compaction undone",
  void: "What it stood for was changed, so it is no longer in force.",
};

export function drawCompaction(desk: Desk, row: CompactionRow): HTMLElement {
  const { phase, tokensBefore, tokensAfter } = row;
  const size =
    tokensBefore === undefined ? ""
    : tokensAfter === undefined ? `${tokens(tokensBefore)} tokens`
    : `${tokens(tokensBefore)} → ${tokens(tokensAfter)} tokens`;
  const isTold = phase === "reviewing" || phase === "undone";
  const title = isTold ? STANDS[phase] : row.title;
  const element = el("div", { class: `row compaction ${phase}`, aria: { label: `${title}. ${size}. ${row.why}` } });
  const card = el("div", { class: "card" });
  element.append(card);
  card.append(el("div", { class: "head" }, icon("fold"), el("strong", {}, title), el("span", { class: "size" }, size)));
  const took = row.durationMs === undefined || row.durationMs < 100 ? "" : ` It took ${duration(row.durationMs)}.`;
  card.append(el("div", { class: "why" }, `${row.why}${row.how === "" ? "" : ` ${row.how}`}${took}`));
  if (!isTold && STANDS[phase] !== "") card.append(el("div", { class: "note" }, STANDS[phase]));
  if (row.focus !== undefined) card.append(el("div", { class: "note" }, `Focus: ${row.focus}`));
  if (row.unreviewed) card.append(el("div", { class: "note" }, "Nobody answered in time, so it holds unreviewed. It can be undone."));
  if (row.dropped !== undefined && row.dropped > 0) {
    card.append(el("div", { class: "note warning" }, `${row.dropped} messages would be left out of the prompt without a word in the summary.`));
  }
  if (phase === "running") card.append(el("div", { class: "progress", role: "progressbar", aria: { label: "Compacting" } }));
  if (row.narrative !== "") {
    card.append(foldable(desk.open, `${row.id}/summary`, "Summary", () => [markdown(desk, row.narrative)]));
  }
  if (row.ledger !== "") {
    card.append(foldable(desk.open, `${row.id}/ledger`, "What was done, and names that were used", () => [el("pre", { tabIndex: 0 }, row.ledger)]));
  }
  if (phase !== "running" && row.messages !== 0) card.append(covered(desk, row));
  if (row.fallbacks.length > 0) {
    const { length } = row.fallbacks;
    const label = length === 1 ? "Another way did not serve" : `${length} other ways did not serve`;
    const ways = () => [el("ul", {}, ...row.fallbacks.map((fallback) => el("li", {}, fallback)))];
    card.append(foldable(desk.open, `${row.id}/ways`, label, ways));
  }
  if (phase === "reviewing") card.append(review(desk, row));
  else if (isSteered(row)) card.append(steering(desk, row));
  return element;
}

function markdown(desk: Desk, text: string): HTMLElement {
  return el("div", { class: "markdown" }, draw(text, (copied) => desk.copy(copied)));
}

/** The original text of what it stands for, and the choice of what is to come back. */
function covered(desk: Desk, row: CompactionRow): HTMLElement {
  const { compactionId, id } = row;
  const known = desk.originals.get(compactionId);
  const chosen = desk.chosen.get(compactionId) ?? new Set<string>();
  const key = `${id}/covered`;
  const label = row.messages === undefined ? "What it covers" : `What it covers: ${row.messages} message${row.messages === 1 ? "" : "s"}`;
  const details = foldable(desk.open, key, label, () => {
    if (known === undefined) {
      desk.post({ type: "covered", compactionId });
      return [el("div", { class: "note" }, "Reading…")];
    }
    const { told, before } = known;
    const list = el("ol", { class: "originals" });
    for (const original of told) list.append(drawOriginal(desk, row, original, chosen));
    return [before !== undefined && button("Show earlier ones", () => desk.post({ type: "covered", compactionId, before })), list];
  });
  if (known !== undefined && chosen.size > 0) {
    details.append(
      el("div", { class: "buttons" }, button(`Bring ${chosen.size} back`, () => {
        desk.chosen.delete(compactionId);
        desk.post({ type: "redo", compactionId, focus: "", keep: [...chosen] });
      }, { class: "primary", title: "Compacts again, and leaves these messages as they were said" })),
    );
  }
  return details;
}

function drawOriginal(desk: Desk, row: CompactionRow, original: Original, chosen: Set<string>): HTMLElement {
  const item = el("li", {});
  if (isSteered(row)) {
    const box = el("input", { data: { key: `${row.id}/${original.messageId}` }, aria: { label: `Bring back: ${original.label}` } });
    box.type = "checkbox";
    box.checked = chosen.has(original.messageId);
    box.addEventListener("change", () => {
      if (box.checked) chosen.add(original.messageId);
      else chosen.delete(original.messageId);
      desk.chosen.set(row.compactionId, chosen);
      desk.redraw(row.id);
    });
    item.append(box);
  }
  item.append(
    foldable(desk.open, `${row.id}/${original.messageId}/text`, original.label, () => [el("pre", { tabIndex: 0 }, original.text)]),
  );
  return item;
}

/** Whether it can be undone, made again or edited here, as things are. */
function isSteered({ phase, newest, held }: CompactionRow): boolean {
  return phase === "inForce" && newest && held !== true;
}

function steering(desk: Desk, row: CompactionRow): HTMLElement {
  const { compactionId, id } = row;
  if (isTyping(desk, id, "redo")) {
    return form(desk, {
      rowId: id,
      name: "redo",
      label: "What must the new summary not lose?",
      initial: row.focus ?? "",
      take: "Compact again",
      lines: false,
      optional: true,
      onTake: (focus) => desk.post({ type: "redo", compactionId, focus, keep: [] }),
    });
  }
  if (isTyping(desk, id, "edit")) {
    return form(desk, {
      rowId: id,
      name: "edit",
      label: "The summary's words",
      initial: row.narrative,
      take: "Use these words",
      lines: true,
      optional: false,
      onTake: (text) => desk.post({ type: "editSummary", compactionId, text }),
    });
  }
  return el(
    "div",
    { class: "buttons", role: "group", aria: { label: "Compaction" } },
    button("Undo", () => desk.post({ type: "undo", compactionId }), { icon: "undo" }),
    button("Redo with a focus…", () => beginTyping(desk, id, "redo", row.focus ?? ""), { icon: "retry" }),
    row.block !== "" && button("Edit summary…", () => beginTyping(desk, id, "edit", row.narrative), { icon: "edit" }),
  );
}

function review(desk: Desk, row: CompactionRow): HTMLElement {
  const { compactionId, id } = row;
  if (isTyping(desk, id, "review")) {
    return form(desk, {
      rowId: id,
      name: "review",
      label: "The summary's words",
      initial: row.narrative,
      take: "Accept with these words",
      lines: true,
      optional: false,
      onTake: (text) => desk.post({ type: "review", compactionId, decision: "edit", text }),
    });
  }
  return el(
    "div",
    { class: "buttons", role: "group", aria: { label: "Review" } },
    button("Accept", () => desk.post({ type: "review", compactionId, decision: "accept" }), { class: "primary" }),
    button("Edit…", () => beginTyping(desk, id, "review", row.narrative), { icon: "edit" }),
    button("Refuse", () => desk.post({ type: "review", compactionId, decision: "refuse" })),
  );
}
