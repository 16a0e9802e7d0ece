// A compaction, drawn as a card where it happened: why, what it stands for, what it left, and what can be done about it.

import type { CompactionRow, Original } from "../../shared/view.ts";
import type { PanelContext } from "../context.ts";
import { button, duration, el, foldable, icon, tokens } from "../dom.ts";
import { beginTyping, form, isTyping } from "../form.ts";
import { draw } from "../markdown/markdown.ts";

/** How it stands, where that is not "in force". */
const STANDS: Record<CompactionRow["phase"], string> = {
  running: "",
  reviewing: "Review this compaction",
  inForce: "",
  older: "Superseded by a newer compaction.",
  undone: "Compaction undone",
  void: "No longer in effect because the messages it covered were changed.",
};

export function drawCompaction(panel: PanelContext, row: CompactionRow): HTMLElement {
  const { phase, tokensBefore, tokensAfter } = row;
  const size =
    tokensBefore === undefined
      ? ""
      : tokensAfter === undefined
        ? `${tokens(tokensBefore)} tokens`
        : `${tokens(tokensBefore)} → ${tokens(tokensAfter)} tokens`;
  const isTold = phase === "reviewing" || phase === "undone";
  const title = isTold ? STANDS[phase] : row.title;
  const element = el("div", { class: `row compaction ${phase}`, aria: { label: `${title}. ${size === "" ? "" : `${size}. `}${row.why}` } });
  const card = el("div", { class: "card" });
  element.append(card);
  card.append(el("div", { class: "head" }, icon("fold"), el("strong", {}, title), el("span", { class: "size" }, size)));
  const took = row.durationMs === undefined || row.durationMs < 100 ? "" : ` Took ${duration(row.durationMs)}.`;
  const cost = row.cost === undefined ? "" : ` Cost ${row.cost}.`;
  card.append(el("div", { class: "why" }, `${row.why}${row.how === "" ? "" : ` ${row.how}`}${took}${cost}`));
  if (!isTold && STANDS[phase] !== "") card.append(el("div", { class: "note" }, STANDS[phase]));
  if (row.focus !== undefined) card.append(el("div", { class: "note" }, `Focus: ${row.focus}`));
  if (row.unreviewed)
    card.append(el("div", { class: "note" }, "It took effect without review because nobody answered in time. You can undo it."));
  if (row.dropped !== undefined && row.dropped > 0) {
    card.append(
      el(
        "div",
        { class: "note warning" },
        row.dropped === 1
          ? "1 message would be left out of the prompt and is not in the summary."
          : `${row.dropped} messages would be left out of the prompt and are not in the summary.`,
      ),
    );
  }
  if (phase === "running") card.append(el("div", { class: "progress", role: "progressbar", aria: { label: "Compacting" } }));
  if (row.narrative !== "") {
    card.append(foldable(panel.open, `${row.id}/summary`, "Summary", () => [markdown(panel, row.narrative)]));
  }
  if (row.ledger !== "") {
    card.append(foldable(panel.open, `${row.id}/ledger`, "Actions and names", () => [el("pre", { tabIndex: 0 }, row.ledger)]));
  }
  if (phase !== "running" && row.messages !== 0) card.append(covered(panel, row));
  if (row.fallbacks.length > 0) {
    const { length } = row.fallbacks;
    const label = `${length === 1 ? "1 other method" : `${length} other methods`} failed`;
    const ways = () => [el("ul", {}, ...row.fallbacks.map((fallback) => el("li", {}, fallback)))];
    card.append(foldable(panel.open, `${row.id}/ways`, label, ways));
  }
  if (phase === "reviewing") card.append(review(panel, row));
  else if (isSteered(row)) card.append(steering(panel, row));
  return element;
}

function markdown(panel: PanelContext, text: string): HTMLElement {
  return el("div", { class: "markdown" }, draw(text, panel));
}

/** The original text of what it stands for, and the choice of what is to come back. */
function covered(panel: PanelContext, row: CompactionRow): HTMLElement {
  const { compactionId, id } = row;
  const known = panel.originals.get(compactionId);
  const chosen = panel.chosen.get(compactionId) ?? new Set<string>();
  const key = `${id}/covered`;
  const label = row.messages === undefined ? "Original messages" : `Original messages (${row.messages})`;
  const details = foldable(panel.open, key, label, () => {
    if (known === undefined) {
      panel.post({ type: "covered", compactionId });
      return [el("div", { class: "note" }, "Loading…")];
    }
    const { messages, before } = known;
    const list = el("ol", { class: "originals" });
    for (const original of messages) list.append(drawOriginal(panel, row, original, chosen));
    return [before !== undefined && button("Show Earlier", () => panel.post({ type: "covered", compactionId, before })), list];
  });
  if (known !== undefined && chosen.size > 0) {
    details.append(
      el(
        "div",
        { class: "buttons" },
        button(
          `Restore ${chosen.size} Message${chosen.size === 1 ? "" : "s"}`,
          () => {
            panel.chosen.delete(compactionId);
            panel.post({ type: "redo", compactionId, focus: "", keep: [...chosen] });
          },
          { class: "primary", title: "Compacts again and keeps these messages unchanged" },
        ),
      ),
    );
  }
  return details;
}

function drawOriginal(panel: PanelContext, row: CompactionRow, original: Original, chosen: Set<string>): HTMLElement {
  const item = el("li", {});
  if (isSteered(row)) {
    const box = el("input", { data: { key: `${row.id}/${original.messageId}` }, aria: { label: `Restore: ${original.label}` } });
    box.type = "checkbox";
    box.checked = chosen.has(original.messageId);
    box.addEventListener("change", () => {
      if (box.checked) chosen.add(original.messageId);
      else chosen.delete(original.messageId);
      panel.chosen.set(row.compactionId, chosen);
      panel.redraw(row.id);
    });
    item.append(box);
  }
  item.append(
    foldable(panel.open, `${row.id}/${original.messageId}/text`, original.label, () => [el("pre", { tabIndex: 0 }, original.text)]),
  );
  return item;
}

/** True if it can be undone, made again or edited here, as things are. */
function isSteered({ phase, newest, held }: CompactionRow): boolean {
  return phase === "inForce" && newest && held !== true;
}

function steering(panel: PanelContext, row: CompactionRow): HTMLElement {
  const { compactionId, id } = row;
  if (isTyping(panel, id, "redo")) {
    return form(panel, {
      rowId: id,
      name: "redo",
      label: "What must the new summary keep?",
      initial: row.focus ?? "",
      take: "Compact Again",
      lines: false,
      optional: true,
      onTake: (focus) => panel.post({ type: "redo", compactionId, focus, keep: [] }),
    });
  }
  if (isTyping(panel, id, "edit")) {
    return form(panel, {
      rowId: id,
      name: "edit",
      label: "Summary text",
      initial: row.narrative,
      take: "Save Summary",
      lines: true,
      optional: false,
      onTake: (text) => panel.post({ type: "editSummary", compactionId, text }),
    });
  }
  return el(
    "div",
    { class: "buttons", role: "group", aria: { label: "Compaction" } },
    button("Undo", () => panel.post({ type: "undo", compactionId }), { icon: "undo" }),
    button("Redo with Focus…", () => beginTyping(panel, id, "redo", row.focus ?? ""), { icon: "retry" }),
    row.block !== "" && button("Edit Summary…", () => beginTyping(panel, id, "edit", row.narrative), { icon: "edit" }),
  );
}

function review(panel: PanelContext, row: CompactionRow): HTMLElement {
  const { compactionId, id } = row;
  if (isTyping(panel, id, "review")) {
    return form(panel, {
      rowId: id,
      name: "review",
      label: "Summary text",
      initial: row.narrative,
      take: "Accept Edited Summary",
      lines: true,
      optional: false,
      onTake: (text) => panel.post({ type: "review", compactionId, decision: "edit", text }),
    });
  }
  return el(
    "div",
    { class: "buttons", role: "group", aria: { label: "Review" } },
    button("Accept", () => panel.post({ type: "review", compactionId, decision: "accept" }), { class: "primary" }),
    button("Edit…", () => beginTyping(panel, id, "review", row.narrative), { icon: "edit" }),
    button("Reject", () => panel.post({ type: "review", compactionId, decision: "refuse" })),
  );
}
