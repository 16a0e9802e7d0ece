// Rows of the user's messages and the model's answers, with their toolbars.

import type { AnswerRow, Picture, Shown, UserRow } from "../../shared/view.ts";
import type { PanelContext } from "../context.ts";
import { el, foldable, type IconName, icon, iconButton } from "../dom.ts";
import { beginTyping, form, isTyping } from "../form.ts";
import { drawDiagrams } from "../markdown/diagram.ts";
import { draw, Growing } from "../markdown/markdown.ts";

/** Marks for messages that the prompt does not show in full. */
const SHOWN: Record<Shown, string | undefined> = {
  whole: undefined,
  shortened: "Shortened in the prompt",
  covered: "Summarized in the prompt",
  excluded: "Excluded from prompts",
  dropped: "Not in the prompt",
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
    image.alt = `Image ${at + 1}`;
    frame.append(image);
  }
  return frame;
}

/** Which version of a message is shown, and the ways to those beside it. */
function versions(panel: PanelContext, { versions, held }: UserRow | AnswerRow): HTMLElement | undefined {
  if (versions === undefined || held === true) return undefined;
  const { at, count, previous, next } = versions;
  const step = (name: string, icon: IconName, revisionId: string | undefined): HTMLElement => {
    const made = iconButton(name, icon, () => revisionId !== undefined && panel.post({ type: "showVersion", revisionId }));
    made.disabled = revisionId === undefined;
    return made;
  };
  return el(
    "div",
    { class: "versions", role: "group", aria: { label: `Version ${at} of ${count}` } },
    step("Previous Version", "left", previous),
    el("span", {}, `${at}/${count}`),
    step("Next Version", "right", next),
  );
}

/** Toolbar of a message. A read-only session offers only copying. */
function tools(panel: PanelContext, row: UserRow | AnswerRow, ...own: Node[]): HTMLElement {
  const steering = [
    ...own,
    pinButton(panel, row),
    hideButton(panel, row),
    iconButton("Fork from Here", "branch", () => panel.post({ type: "branch", messageId: row.messageId })),
  ];
  const copy = iconButton("Copy", "copy", () => panel.copy(row.text));
  return el("div", { class: "tools", role: "toolbar", aria: { label: "Message" } }, ...(row.held === true ? [] : steering), copy);
}

function pinButton(panel: PanelContext, row: UserRow | AnswerRow): HTMLElement {
  const { pinId, messageId } = row;
  return pinId === undefined
    ? iconButton("Pin to Prompt", "pin", () => panel.post({ type: "pin", messageId }), "pin")
    : iconButton("Unpin", "pin", () => panel.post({ type: "unpin", pinId }), "pin");
}

function hideButton(panel: PanelContext, { shown, messageId }: UserRow | AnswerRow): HTMLElement | undefined {
  if (shown === "excluded" || shown === "covered") return undefined;
  return iconButton("Exclude from Prompts", "hide", () => panel.post({ type: "exclude", messageIds: [messageId] }));
}

export function drawUser(panel: PanelContext, row: UserRow): HTMLElement {
  const element = el("div", { class: `row user ${row.shown}`, aria: { label: `You: ${row.text.slice(0, 200)}` } });
  if (isTyping(panel, row.id, "edit") && row.held !== true) {
    element.append(
      form(panel, {
        rowId: row.id,
        name: "edit",
        label: "Edited request (the later conversation is kept as a version)",
        initial: row.text,
        take: "Ask Again",
        lines: true,
        optional: false,
        onTake: (text) => panel.post({ type: "edit", messageId: row.messageId, text }),
      }),
    );
    return element;
  }
  const files =
    row.files.length === 0 ? undefined : el("div", { class: "files" }, ...row.files.map((file) => el("span", { class: "chip" }, file)));
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
      versions(panel, row),
      tools(
        panel,
        row,
        iconButton("Edit and Ask Again", "edit", () => beginTyping(panel, row.id, "edit", row.text)),
        iconButton("Ask Again", "retry", () => panel.post({ type: "retry", messageId: row.messageId })),
        iconButton("Rewind to Here…", "undo", () => panel.post({ type: "rewind", messageId: row.messageId })),
      ),
    ),
  );
  return element;
}

const STOPPED = {
  cancelled: "Stopped by you.",
  failed: "The answer was interrupted.",
  length: "The answer reached the length limit.",
  refused: "The model declined to answer.",
} as const;

/** An answer, and how it goes on while it is written. */
export interface DrawnAnswer {
  element: HTMLElement;
  append(text: string, reasoning: string): void;
}

export function drawAnswer(panel: PanelContext, row: AnswerRow): DrawnAnswer {
  const element = el("div", { class: `row answer ${row.shown}`, aria: { label: "Agent" } });
  const growing = new Growing(panel);
  let thinking: Text | undefined;
  let details: HTMLElement | undefined;
  const think = (text: string): void => {
    if (text === "") return;
    thinking ??= document.createTextNode("");
    thinking.appendData(text);
    if (details === undefined) {
      const shown = thinking;
      details = foldable(panel.open, `${row.messageId}/thinking`, "Thinking", () => [el("div", { class: "words" }, shown)], "thinking");
      element.prepend(details);
    }
  };
  think(row.reasoning);
  if (row.streaming) {
    element.append(growing.element);
    if (row.text !== "") growing.append(row.text);
  } else {
    if (row.text !== "") {
      const words = el("div", { class: "markdown" }, draw(row.text, panel));
      drawDiagrams(words, panel.open, row.messageId);
      element.append(words);
    }
    if (row.stopped !== undefined) element.append(el("div", { class: `stopped ${row.stopped}` }, STOPPED[row.stopped]));
    if (row.text !== "" || row.pinId !== undefined || row.shown !== "whole") {
      element.append(
        el(
          "div",
          { class: "foot" },
          row.pinId !== undefined && el("span", { class: "shown pinned" }, icon("pin"), "Pinned"),
          shownMark(row.shown),
          versions(panel, row),
          row.cost !== undefined &&
            el("span", { class: "cost", title: row.costFrom ?? "", aria: { label: `This turn cost ${row.cost}` } }, row.cost),
          tools(
            panel,
            row,
            iconButton("Answer Again", "retry", () => panel.post({ type: "retry", messageId: row.messageId })),
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
