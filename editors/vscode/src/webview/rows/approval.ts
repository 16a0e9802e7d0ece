// The approval of a call in its row: whether it runs, with which command, and what holds for later calls.

import { beginningsIn } from "../../shared/beginning.ts";
import type { Action, CallRow } from "../../shared/view.ts";
import { visible } from "../../shared/visible.ts";
import type { PanelContext } from "../context.ts";
import { button, el, foldable } from "../dom.ts";
import { beginTyping, form, isTyping } from "../form.ts";

type Decided = Omit<Extract<Action, { type: "decide" }>, "type" | "callIds">;

/** The buttons with which a call is decided, or the form that one of them opened. */
export function drawApproval(panel: PanelContext, row: CallRow): HTMLElement {
  const { id, callId, reason, name, hasDiff, isCommand, effects, arguments: given } = row;
  const frame = el("div", { class: "decision", role: "group", aria: { label: `Approval of ${name}` } });
  const decide = (how: Decided): void => panel.post({ type: "decide", callIds: [callId], ...how });
  if (reason !== undefined) frame.append(el("div", { class: "reason" }, reason));
  for (const effect of effects ?? []) frame.append(el("div", { class: "note" }, visible(effect)));
  if (isTyping(panel, id, "reject")) {
    frame.append(
      form(panel, {
        rowId: id,
        name: "reject",
        label: "What should the agent do instead? (optional)",
        initial: "",
        take: "Reject",
        lines: false,
        optional: true,
        onTake: (note) => decide({ decision: "rejectOnce", ...(note !== "" && { note }) }),
      }),
    );
    return frame;
  }
  const command = isCommand ? commandIn(given) : undefined;
  if (command !== undefined && isTyping(panel, id, "command")) {
    frame.append(
      form(panel, {
        rowId: id,
        name: "command",
        label: "Command to run instead",
        initial: command.text,
        take: "Allow Edited Command",
        lines: true,
        optional: false,
        onTake: (text) => decide({ decision: "allowOnce", arguments: command.with(text) }),
      }),
    );
    return frame;
  }
  frame.append(
    el(
      "div",
      { class: "buttons" },
      button("Allow", () => decide({ decision: "allowOnce" }), { class: "primary", title: "Allow (Ctrl+Enter)" }),
      command !== undefined &&
        button("Edit…", () => beginTyping(panel, id, "command", command.text), { title: "Edit the command, then allow it" }),
      button("Reject…", () => beginTyping(panel, id, "reject", ""), { title: "Reject (Escape)" }),
      hasDiff && button("Show Diff", () => panel.post({ type: "diff", callId })),
    ),
    foldable(panel.open, `${id}/later`, "Later Calls", () => [laterCalls(panel, row, decide)], "later"),
  );
  return frame;
}

/** The decisions that hold for later calls too. */
function laterCalls(panel: PanelContext, { pattern, name, isCommand }: CallRow, decide: (how: Decided) => void): HTMLElement {
  // The sidecar keeps a command as it is, and of any other tool all calls.
  const similar = isCommand ? "This Command" : visible(name);
  const covered = `${isCommand ? "exactly this command" : `every call of ${name}, with any arguments,`} in this folder from now on`;
  const beginning = pattern === undefined ? undefined : beginningsIn(pattern);
  const proposed =
    pattern === undefined || beginning === undefined ? undefined : { words: `Commands Beginning With ${visible(beginning)}`, pattern };
  return el(
    "div",
    { class: "buttons" },
    button(
      `Allow ${proposed?.words ?? similar} in This Session`,
      () => decide({ decision: "allowForSession", ...(proposed !== undefined && { pattern: proposed.pattern }) }),
      { title: "Allows these calls without asking until the session is closed" },
    ),
    button(`Always Allow ${similar}`, () => decide({ decision: "allowAlways" }), { title: `Allows ${covered}` }),
    proposed !== undefined &&
      button(`Always Allow ${proposed.words}`, () => decide({ decision: "allowAlways", pattern: proposed.pattern }), {
        title:
          "Allows these commands, with any further arguments, in this folder from now on. " +
          "A line is allowed if all of its commands are, and asked about if it could run anything else.",
      }),
    // Last and quiet: later calls are rejected without a question, which is seldom meant when one is rejected.
    button(`Always Reject ${similar}`, () => decide({ decision: "rejectAlways" }), { class: "quiet", title: `Rejects ${covered}` }),
    button("Manage Approval Rules", () => panel.post({ type: "command", command: "approvals" }), { class: "quiet" }),
  );
}

/** The command of a call, and its arguments with another one; undefined where they have none. */
function commandIn(given: string): { text: string; with(text: string): string } | undefined {
  let read: { command?: unknown } | null;
  try {
    read = JSON.parse(given);
  } catch {
    return undefined;
  }
  const text = read?.command;
  return typeof text === "string" ? { text, with: (command) => JSON.stringify({ ...read, command }) } : undefined;
}

/** Allows the call that has the focus, or asks what to do instead, by a key. */
export function decideByKey(panel: PanelContext, { id, callId }: CallRow, event: KeyboardEvent): void {
  // What is typed into the form is the form's.
  if (event.isComposing || event.repeat || isTyping(panel, id, "reject") || isTyping(panel, id, "command")) return;
  // A key on another button means that button.
  const { target } = event;
  const isMeant = !(target instanceof Element) || target.closest("button:not(.primary), a, summary") === null;
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && isMeant)
    panel.post({ type: "decide", callIds: [callId], decision: "allowOnce" });
  else if (event.key === "Escape") beginTyping(panel, id, "reject", "");
  else return;
  event.preventDefault();
  event.stopPropagation();
}
