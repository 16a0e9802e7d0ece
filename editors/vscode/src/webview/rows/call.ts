// A call of a tool, drawn as a row: what it is to do, how it stands, what came of it, and the decision where it waits for
// one.

import type { CallRow, CallState } from "../../view.ts";
import { visible } from "../../visible.ts";
import { button, duration, el, foldable, tokens } from "../dom.ts";
import type { Desk } from "../desk.ts";
import { beginTyping, form, isTyping } from "../form.ts";
import { drawGiven, put, spoken } from "./given.ts";
import { pictures, shownMark } from "./message.ts";

const STATES: Record<CallState, string> = {
  writing: "being written",
  asked: "needs your decision",
  waiting: "waits for the other decisions",
  running: "running",
  done: "done",
  failed: "failed",
  rejected: "rejected by you",
  cancelled: "cancelled",
  open: "was not finished",
};

export function drawCall(desk: Desk, row: CallRow): HTMLElement {
  const { name, about, state, result, durationMs } = row;
  const took = durationMs === undefined || state === "open" ? "" : ` in ${duration(durationMs)}`;
  const ended =
    state === "asked" && row.held === true ? "waits for a decision in the other window"
    : state === "failed" && result?.exitCode !== undefined ? `exit ${result.exitCode}`
    : STATES[state];
  const stands = `${ended}${took}`;
  const isDecided = state !== "asked" && state !== "open";
  const said = isDecided ? `Tool ${visible(name)} ${about}: ${stands}` : `Tool ${visible(name)}: ${stands}. ${spoken(row)}`;
  const element = el("div", { class: `row call ${state}`, aria: { label: said } });
  const head = [
    el("span", { class: `dot ${state}`, aria: { hidden: true } }),
    el("span", { class: "name" }, visible(name)),
    isDecided && el("span", { class: "about", title: about }, about),
    el("span", { class: "stands" }, stands),
  ];
  if (isDecided) {
    const details = foldable(desk.open, `${row.callId}/call`, "", () => [argumentsOf(row), resultOf(desk, row)], "card");
    details.querySelector("summary")?.append(...head.filter((part) => part !== false));
    element.append(details);
  } else {
    const ask = row.held === true ? undefined : state === "open" ? unfinished(desk, row) : decision(desk, row);
    element.append(el("div", { class: "card" }, el("div", { class: "title" }, ...head), drawGiven(row), ask));
  }
  const mark = shownMark(row.shown);
  if (mark !== undefined) element.append(el("div", { class: "foot" }, mark));
  return element;
}

function argumentsOf(row: CallRow): HTMLElement {
  let text = row.arguments;
  try {
    text = JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    // Shown as the model wrote it.
  }
  const block = el("pre", { tabIndex: 0, aria: { label: "Arguments" } });
  put(block, text);
  const { characters } = row;
  const label = characters === undefined ? "Arguments" : `Arguments: the last ${tokens(text.length)} of ${tokens(characters)} characters`;
  return el("div", {}, el("div", { class: "label" }, label), block);
}

function resultOf(desk: Desk, { callId, id, result }: CallRow): HTMLElement | undefined {
  if (result === undefined) return undefined;
  const whole = desk.results.get(callId);
  const text = whole ?? result.text;
  const block = el("pre", { tabIndex: 0, aria: { label: "Result" } }, text);
  const rest = result.characters - text.length;
  const more =
    whole !== undefined || rest <= 0 ? undefined : (
      button(`Show all ${tokens(result.characters)} characters`, () => desk.post({ type: "wholeResult", callId }), {
        key: `${id}/whole`,
      })
    );
  const changed = result.changed.length > 0 && el("div", { class: "note" }, `Changed ${result.changed.join(", ")}`);
  return el("div", {}, el("div", { class: "label" }, "Result"), block, more, pictures(result.images), changed);
}

function decision(desk: Desk, { id, callId, reason, name, hasDiff, isCommand }: CallRow): HTMLElement {
  const frame = el("div", { class: "decision", role: "group", aria: { label: `Decide about ${name}` } });
  if (reason !== undefined) frame.append(el("div", { class: "reason" }, reason));
  if (isTyping(desk, id, "reject")) {
    frame.append(
      form(desk, {
        rowId: id,
        name: "reject",
        label: "What should it do instead? The model is told.",
        initial: "",
        take: "Reject",
        lines: false,
        optional: true,
        onTake: (note) => desk.post({ type: "decide", callIds: [callId], decision: "reject", ...(note !== "" && { note }) }),
      }),
    );
    return frame;
  }
  // The sidecar keeps a command as it is, and of any other tool all calls.
  const always = `Always allow ${isCommand ? "this command" : visible(name)}`;
  frame.append(
    el(
      "div",
      { class: "buttons" },
      button("Allow", () => desk.post({ type: "decide", callIds: [callId], decision: "approve" }), { class: "primary" }),
      button("Reject…", () => beginTyping(desk, id, "reject", "")),
      hasDiff && button("Show diff", () => desk.post({ type: "diff", callId })),
      button(always, () => desk.post({ type: "decide", callIds: [callId], decision: "approveAlways" }), {
        title: `${isCommand ? "Exactly this command" : `Every call of ${name}, whatever its arguments are`}, in this folder, from now on`,
      }),
    ),
  );
  return frame;
}

/** A call that a restart left open: nothing runs again by itself. */
function unfinished(desk: Desk, { callId, name }: CallRow): HTMLElement {
  return el(
    "div",
    { class: "decision", role: "group", aria: { label: `Decide about ${name}` } },
    el("div", { class: "reason" }, "This was broken off before it had a result. It is not run again by itself."),
    el(
      "div",
      { class: "buttons" },
      button("Run it again", () => desk.post({ type: "rerun", callId }), { class: "primary" }),
      button("Go on without it", () => desk.post({ type: "abandon", callId })),
    ),
  );
}
