// A place in a row to type a few words: the reason of a rejection, the focus of a compaction, an edited message. What was
// typed outlives a redraw of the row. Escape leaves, Ctrl+Enter takes it, Enter too where there is one line.

import type { PanelContext } from "./context.ts";
import { button, el } from "./dom.ts";

interface Form {
  rowId: string;
  name: string;
  label: string;
  initial: string;
  take: string;
  lines: boolean;
  /** True if nothing typed is an answer too. */
  optional: boolean;
  onTake: (text: string) => void;
}

/** True if the form of this name is open in a row. */
export function isTyping(panel: PanelContext, rowId: string, name: string): boolean {
  return panel.typed.has(`${rowId}/${name}`);
}

/** Opens it. */
export function beginTyping(panel: PanelContext, rowId: string, name: string, initial: string): void {
  panel.typed.set(`${rowId}/${name}`, initial);
  panel.redraw(rowId);
  requestAnimationFrame(() => {
    requestAnimationFrame(() => document.querySelector<HTMLElement>(`[data-key="${CSS.escape(`${rowId}/${name}`)}"]`)?.focus());
  });
}

/** The open form. */
export function form(panel: PanelContext, { rowId, name, label, initial, take, lines, optional, onTake }: Form): HTMLElement {
  const key = `${rowId}/${name}`;
  const area = el("textarea", { aria: { label }, data: { key } });
  area.rows = 1;
  if (lines) area.classList.add("lines");
  area.placeholder = label;
  area.value = panel.typed.get(key) ?? initial;
  const leave = (): void => {
    panel.typed.delete(key);
    panel.redraw(rowId);
  };
  const finish = (): void => {
    const text = area.value.trim();
    if (text === "" && !optional) return;
    leave();
    onTake(text);
  };
  area.addEventListener("input", () => panel.typed.set(key, area.value));
  area.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    if (event.key === "Escape") leave();
    else if (event.key === "Enter" && (event.ctrlKey || event.metaKey || (!lines && !event.shiftKey))) finish();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  return el(
    "div",
    { class: "form" },
    area,
    el("div", { class: "buttons" }, button(take, finish, { class: "primary" }), button("Cancel", leave)),
  );
}
