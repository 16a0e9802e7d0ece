// What a user or a model said, drawn as a row, with what can be done with it. Calls and compactions have files of their
// own.

import type { AnswerRow, Picture, Shown, UserRow } from "../../view.ts";
import { el, foldable, icon, iconButton } from "../dom.ts";
import type { Desk } from "../desk.ts";
import { beginTyping, form, isTyping } from "../form.ts";
import { draw, Growing } from "../markdown.ts";

/** What a prompt shows of a message, for a mark beside it. */
const SHOWN: Record<Shown, string | undefined> = {
  whole: undefined,
  shortened: "The model sees part of this",
  covered: "A summary stands for this",
  excluded: "Left out of prompts",
  dropped: "The model does not see this",
};

/** The mark that says so, where a prompt does not show it whole. */
export function shownMark(shown: Shown): HTMLElement | undefined {
  const words = SHOWN[shown];
  return words === undefined ? undefined : el("span", { class: `shown ${shown}` }, words);
}

export function pictures(images: readonly Picture[]): HTMLElement | undefined {
  if (images.length === 0) return undefined;
  const frame = el("div", { class: "pictures" });
  for (const [at, { source }] of images.entries()) {
    const image = document.createElement("img");
    image.src = source;
    image.alt = `Picture ${at + 1}`;
    frame.append(image);
  }
  return frame;
}

/** What can be done with a message: its own, and what all have. Where another window writes, it can be copied. */
function tools(desk: Desk, row: UserRow | AnswerRow, ...own: Node[]): HTMLElement {
  const steering = [
    ...own,
    pinButton(desk, row),
    hideButton(desk, row),
    iconButton("Branch from here", "branch", () => desk.post({ type: "branch", messageId: row.messageId })),
  ];
  const copy = iconButton("Copy", "copy", () => desk.copy(row.text));
  return el("div", { class: "tools", role: "toolbar", aria: { label: "Message" } }, ...(row.held === true ? [] : steering), copy);
}

function pinButton(desk: Desk, row: UserRow | AnswerRow): HTMLElement {
  const { pinId, messageId } = row;
  return pinId === undefined ?
      iconButton("Pin: every prompt shows this", "pin", () => desk.post({ type: "pin", messageId }), "pin")
    : iconButton("Unpin", "pin", () => desk.post({ type: "unpin", pinId }), "pin");
}

function hideButton(desk: Desk, { shown, messageId }: UserRow | AnswerRow): HTMLElement | undefined {
  if (shown === "excluded" || shown === "covered") return undefined;
  return iconButton("Leave out of prompts", "hide", () => desk.post({ type: "exclude", messageIds: [messageId] }));
}

export function drawUser(desk: Desk, row: UserRow): HTMLElement {
  const element = el("div", { class: `row user ${row.shown}`, aria: { label: `You: ${row.text.slice(0, 200)}` } });
  if (isTyping(desk, row.id, "edit") && row.held !== true) {
    element.append(
      form(desk, {
        rowId: row.id,
        name: "edit",
        label: "Ask this in its place. What follows is kept as another session.",
        initial: row.text,
        take: "Ask again",
        lines: true,
        optional: false,
        onTake: (text) => desk.post({ type: "edit", messageId: row.messageId, text }),
      }),
    );
    return element;
  }
  const files = row.files.length === 0 ? undefined : el("div", { class: "files" }, ...row.files.map((file) => el("span", { class: "chip" }, file)));
  element.append(el("div", { class: "bubble" }, el("div", { class: "words" }, row.text)));
  if (files !== undefined) element.append(files);
  const images = pictures(row.images);
  if (images !== undefined) element.append(images);
  element.append(
    el(
      "div",
      { class: "foot" },
      row.pinId !== undefined && el("span", { class: "shown pinned" }, icon("pin"), "Pinned"),
      shownMark(row.shown),
      tools(
        desk,
        row,
        iconButton("Edit and ask again", "edit", () => beginTyping(desk, row.id, "edit", row.text)),
        iconButton("Ask again", "retry", () => desk.post({ type: "retry", messageId: row.messageId })),
        iconButton("Rewind to here…", "undo", () => desk.post({ type: "rewind", messageId: row.messageId })),
      ),
    ),
  );
  return element;
}

const STOPPED = {
  cancelled: "You stopped this answer. What was said stays.",
  failed: "This answer broke off. What was said stays.",
  length: "This answer reached the length limit.",
  refused: "The model would not answer.",
} as const;

/** An answer, and how it goes on while it is written. */
export interface DrawnAnswer {
  element: HTMLElement;
  append(text: string, reasoning: string): void;
}

export function drawAnswer(desk: Desk, row: AnswerRow): DrawnAnswer {
  const element = el("div", { class: `row answer ${row.shown}`, aria: { label: "Agent" } });
  const growing = new Growing((text) => desk.copy(text));
  let thinking: Text | undefined;
  let details: HTMLElement | undefined;
  const think = (text: string): void => {
    if (text === "") return;
    thinking ??= document.createTextNode("");
    thinking.appendData(text);
    if (details === undefined) {
      const shown = thinking;
      details = foldable(desk.open, `${row.messageId}/thinking`, "Thinking", () => [el("div", { class: "words" }, shown)], "thinking");
      element.prepend(details);
    }
  };
  think(row.reasoning);
  if (row.streaming) {
    element.append(growing.element);
    if (row.text !== "") growing.append(row.text);
  } else {
    if (row.text !== "") element.append(el("div", { class: "markdown" }, draw(row.text, (text) => desk.copy(text))));
    if (row.stopped !== undefined) element.append(el("div", { class: `stopped ${row.stopped}` }, STOPPED[row.stopped]));
    if (row.text !== "" || row.pinId !== undefined || row.shown !== "whole") {
      element.append(
        el(
          "div",
          { class: "foot" },
          row.pinId !== undefined && el("span", { class: "shown pinned" }, icon("pin"), "Pinned"),
          shownMark(row.shown),
          tools(
            desk,
            row,
            iconButton("Answer again", "retry", () => desk.post({ type: "retry", messageId: row.messageId })),
          ),
        ),
      );
    }
  }
  return {
    element,
    append(text, reasoning) {
      think(reasoning);
      if (text !== "") growing.append(text);
    },
  };
}
