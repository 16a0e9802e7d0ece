// A block of code in an answer: its language, its colours, and what can be done with it.

import { namedFile } from "../../shared/named-file.ts";
import { visibleLine } from "../../shared/visible.ts";
import { el, iconButton } from "../dom.ts";
import type { CodeColoring, CodeText } from "./code-colors.ts";

/** Characters of a language's name; a model may write anything there. */
const MOST_LANGUAGE = 30;

/** What can be done with code. */
export interface CodeActions {
  readonly coloring: CodeColoring;
  copy(text: string): void;
  /** Proposes it as a change of the file at `path`, else of the one in the editor. */
  apply(text: string, path: string | undefined): void;
  /** Puts it into the editor, at the cursor. */
  insert(text: string): void;
  /** Opens it as a file of its own, not saved yet. */
  insertNew(text: string, language: string): void;
}

/** Puts a block that Markdown made into a frame; more of it may come if it is open. Answers its text. */
export function frameCode(block: HTMLPreElement, actions: CodeActions, isOpen: boolean): CodeText {
  const language = languageOf(block);
  const info = block.querySelector("code")?.dataset["info"] ?? "";
  const label = language === "" ? "Code" : `Code, ${language}`;
  const frame = el("div", { class: "code", role: "group", aria: { label } });
  block.replaceWith(frame);
  block.tabIndex = 0;
  const text = actions.coloring.begin(block.querySelector("code") ?? block, language, isOpen);
  // The end of the last line is none of the code: pasted into a terminal, it would run it.
  const code = (): string => text.text.replace(/\n$/, "");
  frame.append(
    el(
      "div",
      { class: "code-head" },
      el("span", { class: "language" }, language),
      iconButton("Apply in Editor", "apply", () => actions.apply(code(), namedFile(info, lineBefore(frame)))),
      iconButton("Insert at Cursor", "insert", () => actions.insert(code())),
      iconButton("Insert into New File", "add", () => actions.insertNew(code(), language)),
      iconButton("Copy Code", "copy", () => actions.copy(code())),
    ),
    block,
  );
  return text;
}

/** The line that stands before a block, with its code in backticks. */
function lineBefore(frame: HTMLElement): string {
  const before = frame.previousElementSibling?.cloneNode(true) as HTMLElement | undefined;
  // Another block says nothing about this one.
  if (before === undefined || before.matches(".code, .table")) return "";
  for (const code of before.querySelectorAll("code")) code.replaceWith(`\`${code.textContent}\``);
  return before.textContent.trimEnd().split("\n").at(-1) ?? "";
}

/** As the model named it behind the fence; empty where it did not. */
function languageOf(block: HTMLPreElement): string {
  const name = block.querySelector("code")?.className.match(/^language-(.*)$/)?.[1] ?? "";
  return visibleLine(name, MOST_LANGUAGE);
}
