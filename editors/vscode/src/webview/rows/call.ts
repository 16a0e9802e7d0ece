// A call of a tool, drawn as a row: what it is to do, how it stands, what came of it, and the decision where it waits for
// one.

import type { CallResult, CallRow, CallState, Phrase } from "../../shared/view.ts";
import { visible } from "../../shared/visible.ts";
import type { PanelContext } from "../context.ts";
import { button, duration, el, foldable, icon, iconButton, tokens } from "../dom.ts";
import { decideByKey, drawApproval } from "./approval.ts";
import { appendVisible, argumentsText, drawArguments } from "./arguments.ts";
import { pictures, shownMark } from "./message.ts";
import { drawLive, drawOutput } from "./output.ts";

const STATES: Record<CallState, string> = {
  writing: "writing",
  asked: "needs approval",
  waiting: "waiting for other approvals",
  running: "running",
  done: "done",
  failed: "failed",
  rejected: "rejected by you",
  cancelled: "cancelled",
  open: "not finished",
};

/** Under which it is noted that a call is expanded. */
export function callKey({ callId }: CallRow): string {
  return `${callId}/call`;
}

export function drawCall(panel: PanelContext, row: CallRow): HTMLElement {
  const { name, phrases, state, result, durationMs } = row;
  const took = durationMs === undefined || state === "open" ? "" : ` in ${duration(durationMs)}`;
  const ended =
    state === "asked" && row.held === true
      ? "waiting for approval in the other window"
      : state === "failed" && result?.exitCode !== undefined
        ? `exit code ${result.exitCode}`
        : STATES[state];
  const stands = `${ended}${took}`;
  const isDecided = state !== "asked" && state !== "open";
  const words = phrases.map(({ text }) => text).join("");
  const said = isDecided ? `${words}: ${stands}` : `Tool ${visible(name)}: ${stands}. ${argumentsText(row)}`;
  const element = el("div", { class: `row call ${state}`, aria: { label: said }, data: { tool: name } });
  const head = [
    el("span", { class: `dot ${state}`, aria: { hidden: true } }),
    icon(row.icon),
    el("span", { class: "phrase", title: `${visible(name)}: ${words}` }, ...phrases.map(drawPhrase)),
    !isDecided && el("span", { class: "name" }, visible(name)),
    el("span", { class: "stands" }, ended, el("span", { class: "took" }, took)),
  ];
  if (isDecided) {
    const isOutput = result?.isOutput === true && (state === "done" || state === "failed");
    const isLive = row.isCommand && state === "running" && row.held !== true;
    const content = () => [toolOf(row), argumentsOf(row), isOutput ? changedBy(result) : resultOf(panel, row)];
    const details = foldable(panel.open, callKey(row), "", content);
    details.querySelector("summary")?.append(...head.filter((part) => part !== false));
    const hasChanged = row.hasDiff && state === "done" && (result?.changed.length ?? 0) > 0;
    const diff = iconButton("Show Diff", "diff", () => panel.post({ type: "diff", callId: row.callId }), `${row.id}/diff`);
    const main = hasChanged ? el("div", { class: "with-diff" }, details, diff) : details;
    const said = row.note !== undefined && el("div", { class: "said" }, row.note);
    element.append(el("div", { class: "card" }, main, said, isOutput && drawOutput(panel, row, result), isLive && drawLive(panel, row)));
  } else {
    const ask = row.held === true ? undefined : state === "open" ? unfinished(panel, row) : drawApproval(panel, row);
    if (ask !== undefined && state === "asked") element.addEventListener("keydown", (event) => decideByKey(panel, row, event));
    element.append(el("div", { class: "card" }, el("div", { class: "title" }, ...head), drawArguments(row), ask));
  }
  const mark = shownMark(row.shown);
  if (mark !== undefined) element.append(el("div", { class: "foot" }, mark));
  return element;
}

function drawPhrase({ text, isCode }: Phrase): Node {
  return isCode === true ? el("code", {}, text) : document.createTextNode(text);
}

function toolOf({ name }: CallRow): HTMLElement {
  return el("div", { class: "note" }, "Tool: ", el("span", { class: "name" }, visible(name)));
}

function argumentsOf(row: CallRow): HTMLElement {
  let text = row.arguments;
  try {
    text = JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    // Shown as the model wrote it.
  }
  const block = el("pre", { tabIndex: 0, aria: { label: "Arguments" } });
  appendVisible(block, text);
  const { characters } = row;
  const label = characters === undefined ? "Arguments" : `Arguments: the last ${tokens(text.length)} of ${tokens(characters)} characters`;
  return el("div", {}, el("div", { class: "label" }, label), block);
}

function resultOf(panel: PanelContext, { callId, id, result }: CallRow): HTMLElement | undefined {
  if (result === undefined) return undefined;
  const whole = panel.results.get(callId);
  const text = whole ?? result.text;
  const block = el("pre", { tabIndex: 0, aria: { label: "Result" } }, text);
  const rest = result.characters - text.length;
  const more =
    whole !== undefined || rest <= 0
      ? undefined
      : button(`Show All ${tokens(result.characters)} Characters`, () => panel.post({ type: "wholeResult", callId }), {
          key: `${id}/whole`,
        });
  return el("div", {}, el("div", { class: "label" }, "Result"), block, more, pictures(result.images), changedBy(result));
}

function changedBy({ changed }: CallResult): HTMLElement | undefined {
  return changed.length === 0 ? undefined : el("div", { class: "note" }, `Changed ${changed.join(", ")}`);
}

/** A call that a restart left open: nothing runs again by itself. */
function unfinished(panel: PanelContext, { callId, name }: CallRow): HTMLElement {
  return el(
    "div",
    { class: "decision", role: "group", aria: { label: `Interrupted call of ${name}` } },
    el("div", { class: "reason" }, "This call was interrupted before it returned a result. It is not run again automatically."),
    el(
      "div",
      { class: "buttons" },
      button("Run Again", () => panel.post({ type: "rerun", callId }), { class: "primary" }),
      button("Continue Without It", () => panel.post({ type: "abandon", callId })),
    ),
  );
}
