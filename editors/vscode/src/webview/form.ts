// A place in a row to type a few words: the reason of a rejection, the focus of a compaction, an edited message. What was
// typed outlives a redraw of the row. Escape leaves, Ctrl+Enter takes it, Enter too where there is one line.

import { button, el } from "./dom.ts";
import type { Desk } from "./desk.ts";

interface Form {
  rowId: string;
  name: string;
  label: string;
  initial: string;
  take: string;
  lines: boolean;
  /** Whether nothing typed is an answer too. */
  optional: boolean;
  onTake: (text: string) => void;
}

/** Whether the form of this name is open in a row. */
export function isTyping(desk: Desk, rowId: string, name: string): boolean {
  return desk.typed.has(`${rowId}/${name}`);
}

/** Opens it. */
export function beginTyping(desk: Desk, rowId: string, name: string, initial: string): void {
  desk.typed.set(`${rowId}/${name}`, initial);
  desk.redraw(rowId);
  requestAnimationFrame(() => {
    requestAnimationFrame(() => document.querySelector<HTMLElement>(`[data-key="${CSS.escape(`${rowId}/${name}`)}"]`)?.focus());
  });
}

/** The open form. */
export function form(desk: Desk, { rowId, name, label, initial, take, lines, optional, onTake }: Form): HTMLElement {
  const key = `${rowId}/${name}`;
  const area = el("textarea", { aria: { label }, data: { key } });
  area.rows = lines ? 6 : 1;
  area.placeholder = label;
  area.value = desk.typed.get(key) ?? initial;
  const leave = (): void => {
    desk.typed.delete(key);
    desk.redraw(rowId);
  };
  const finish = (): void => {
    const text = area.value.trim();
    if (text === "" && !optional) return;
    leave();
    onTake(text);
  };
  area.addEventListener("input", () => desk.typed.set(key, area.value));
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
    el("div", { class: "buttons" }, button(take, finish, { class: "primary" }), button("Leave", leave)),
  );
}
