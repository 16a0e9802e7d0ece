// A block of code in an answer: its language, and what can be done with it.

import { visibleLine } from "../shared/visible.ts";
import { el, iconButton } from "./dom.ts";

/** Characters of a language's name; a model may write anything there. */
const MOST_LANGUAGE = 30;

/** What can be done with code. */
export interface CodeActions {
  copy(text: string): void;
  /** Puts it into the editor, at the cursor. */
  insert(text: string): void;
}

/** Puts a block that Markdown made into a frame. */
export function frameCode(block: HTMLPreElement, actions: CodeActions): void {
  // The end of the last line is none of the code: pasted into a terminal, it would run it.
  const code = (block.textContent ?? "").replace(/\n$/, "");
  const language = languageOf(block);
  const label = language === "" ? "Code" : `Code, ${language}`;
  const frame = el("div", { class: "code", role: "group", aria: { label } });
  block.replaceWith(frame);
  block.tabIndex = 0;
  frame.append(
    el(
      "div",
      { class: "code-head" },
      el("span", { class: "language" }, language),
      iconButton("Insert at Cursor", "insert", () => actions.insert(code)),
      iconButton("Copy Code", "copy", () => actions.copy(code)),
    ),
    block,
  );
}

/** As the model named it behind the fence; empty where it did not. */
function languageOf(block: HTMLPreElement): string {
  const name = block.querySelector("code")?.className.match(/^language-(.*)$/)?.[1] ?? "";
  return visibleLine(name, MOST_LANGUAGE);
}
