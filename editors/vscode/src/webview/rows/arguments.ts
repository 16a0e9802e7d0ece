// The arguments of a call for somebody who decides about it: each in full, with invisible characters named.

import type { CallRow } from "../../shared/view.ts";
import { pieces, visible } from "../../shared/visible.ts";
import { el, icon, tokens } from "../dom.ts";

/** From how many lines on a value scrolls; style.css knows it too. */
const MOST_LINES = 12;
/** A value of one line and no more characters stands beside its name. */
const SHORT = 60;

interface Argument {
  name: string;
  text: string;
}

/** All of a call's arguments, each as a text; the whole as it was written, where they are no object. */
function argumentsIn({ arguments: given }: CallRow): Argument[] {
  let read: unknown;
  try {
    read = JSON.parse(given.trim() === "" ? "{}" : given);
  } catch {
    read = undefined;
  }
  if (typeof read !== "object" || read === null || Array.isArray(read)) return [{ name: "arguments", text: given }];
  return Object.entries(read).map(([name, value]) => ({ name, text: typeof value === "string" ? value : JSON.stringify(value, null, 2) }));
}

/** All of them in words, for a screen reader. */
export function argumentsText(row: CallRow): string {
  return argumentsIn(row)
    .map(({ name, text }) => visible(`${name}: ${text}`))
    .join("\n");
}

/** All of them, drawn. */
export function drawArguments(row: CallRow): HTMLElement {
  const given = argumentsIn(row);
  const frame = el("div", { class: "given" }, ...given.map((argument) => draw(argument, row, given.length === 1)));
  if (given.length === 0) frame.append(el("div", { class: "note" }, "No arguments"));
  if (frame.querySelector(".unseen") !== null) {
    frame.append(el("div", { class: "note warning" }, icon("warn"), "Contains invisible characters, shown as code points."));
  }
  return frame;
}

function draw({ name, text }: Argument, { isCommand, hasDiff }: CallRow, isAlone: boolean): HTMLElement {
  const lines = text.split("\n").length;
  const side = hasDiff && name === "old" ? "removed" : hasDiff && name === "new" ? "added" : "";
  const isShort = lines === 1 && text.length <= SHORT && side === "";
  const value = el("pre", { class: `value ${side}`, tabIndex: 0, role: "group", aria: { label: visible(name) } });
  appendVisible(value, text);
  const label = el("div", { class: "label" });
  appendVisible(label, name);
  const count = lines > MOST_LINES && el("div", { class: "count" }, `${tokens(lines)} lines`);
  const isCommandAlone = isCommand && isAlone && name === "command";
  return el("div", { class: isShort && !isCommandAlone ? "argument short" : "argument" }, !isCommandAlone && label, value, count);
}

/** Puts a text into an element, so that all of it is seen. */
export function appendVisible(element: HTMLElement, text: string): void {
  element.append(...pieces(text).map(({ text, isUnseen }) => (isUnseen ? el("span", { class: "unseen" }, text) : text)));
}
