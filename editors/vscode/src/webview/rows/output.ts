// What a command printed, in its row: the last lines while it runs and afterwards, and all of it on request.

import { endOf, terminalText } from "../../shared/terminal-text.ts";
import type { CallResult, CallRow } from "../../shared/view.ts";
import { pieces, visible } from "../../shared/visible.ts";
import type { PanelContext } from "../context.ts";
import { button, el, tokens } from "../dom.ts";
import { appendVisible } from "./arguments.ts";

/** Of an output that is not expanded. */
const LAST_LINES = 8;
const LAST_CHARACTERS = 1_000;
/** So many marks are elements of their own; with more, as in the bytes of a program, drawing would take long. */
const MOST_MARKS = 2_000;

/** Elements that show what calls print, by call id; the document holds them. */
const live = new Map<string, WeakRef<HTMLElement>>();

/** What a call that runs printed so far, with what can be done about it. */
export function drawLive(panel: PanelContext, { id, callId }: CallRow): HTMLElement {
  const block = el("pre", { class: "printed", tabIndex: 0, role: "group", aria: { label: "Output so far" } });
  live.set(callId, new WeakRef(block));
  drawLiveOutput(panel, callId);
  const buttons = el(
    "div",
    { class: "buttons" },
    button("Stop Command", () => panel.post({ type: "stopCall", callId }), { key: `${id}/stop`, icon: "stop" }),
    button("Show Terminal", () => panel.post({ type: "command", command: "showTerminal" }), { key: `${id}/terminal`, icon: "terminal" }),
  );
  return el("div", { class: "output" }, block, buttons);
}

/** Draws what a call printed by now; answers false if its row does not show that. */
export function drawLiveOutput({ outputs }: PanelContext, callId: string): boolean {
  const block = live.get(callId)?.deref();
  if (block === undefined) return false;
  const text = endOf(terminalText(outputs.get(callId) ?? ""), LAST_LINES, LAST_CHARACTERS);
  block.hidden = text === "";
  block.replaceChildren();
  appendOutput(block, text);
  return true;
}

export function drawOutput(panel: PanelContext, row: CallRow, result: CallResult): HTMLElement {
  panel.outputs.delete(row.callId);
  live.delete(row.callId);
  const key = `${row.callId}/output`;
  const read = panel.results.get(row.callId) ?? result.text;
  const isWhole = panel.results.has(row.callId) || result.text.length === result.characters;
  const text = terminalText(read);
  const end = endOf(text, LAST_LINES, LAST_CHARACTERS);
  const isShort = isWhole && end === text;
  const isExpanded = panel.open.has(key) && isWhole;
  const label = isExpanded || isShort ? "Output" : "End of the output";
  const block = el("pre", { class: "printed", tabIndex: 0, role: "group", aria: { label } });
  appendOutput(block, isExpanded ? text : end);
  const all = isWhole ? `${tokens(text.split("\n").length)} Lines` : `${tokens(result.characters)} Characters`;
  const toggle = (): void => {
    if (isExpanded) panel.open.delete(key);
    else panel.open.add(key);
    // The row is drawn again when the rest comes.
    if (isWhole) panel.redraw(row.id);
    else panel.post({ type: "wholeResult", callId: row.callId });
  };
  const more =
    !isShort && button(isExpanded ? "Show Only the End" : `Show All ${all}`, toggle, { key: `${row.id}/output`, expanded: isExpanded });
  return el("div", { class: "output" }, block, more);
}

function appendOutput(block: HTMLElement, text: string): void {
  if (pieces(text).length > MOST_MARKS) block.append(visible(text));
  else appendVisible(block, text);
}
