// Markdown of a model as elements. HTML in it is shown as text, pictures from elsewhere are links, and a link has no
// address that a browser acts on: the host decides where it leads. An answer that is being written is drawn block by block, so that
// its length costs once.

import { el } from "../dom.ts";
import { type CodeActions, frameCode } from "./code-block.ts";
import type { CodeText } from "./code-colors.ts";
import { drawMath } from "./math.ts";
import { markdown } from "./rules.ts";
import { drawTasks } from "./tasks.ts";

/** Where a link leads that somebody clicks or presses Enter on; undefined where that is no link. */
export function followed(event: MouseEvent | KeyboardEvent): string | undefined {
  if (event instanceof KeyboardEvent && event.key !== "Enter") return undefined;
  return (event.target as Element).closest<HTMLElement>("a[data-href]")?.dataset["href"];
}

/** A text as elements. */
export function draw(text: string, actions: CodeActions): DocumentFragment {
  return drawOpen(text, actions, false).fragment;
}

/** A text as elements; the fence at its end is open if that is said. */
function drawOpen(text: string, actions: CodeActions, isOpen: boolean): { fragment: DocumentFragment; last: CodeText | undefined } {
  const template = document.createElement("template");
  // markdown-it escapes whatever is HTML in the text; scripts and styles are forbidden by the panel's policy besides.
  template.innerHTML = markdown.render(text);
  const blocks = [...template.content.querySelectorAll("pre")];
  const codes = blocks.map((block, at) => frameCode(block, actions, isOpen && at === blocks.length - 1));
  for (const table of template.content.querySelectorAll("table")) {
    const frame = el("div", { class: "table", tabIndex: 0 });
    table.replaceWith(frame);
    frame.append(table);
  }
  drawTasks(template.content);
  drawMath(template.content);
  return { fragment: template.content, last: codes.at(-1) };
}

/** An answer that is being written. Blocks before the newest one are drawn once and stay; to a fence, lines are added. */
export class Growing {
  readonly element = el("div", { class: "markdown" });
  readonly #actions: CodeActions;
  #text = "";
  /** How much of the text is in blocks that stay. */
  #settled = 0;
  #open: Node[] = [];
  /** The open fence that is the newest block, with its code. */
  #fence: { lines: FenceLines; code: CodeText } | undefined;

  constructor(actions: CodeActions) {
    this.#actions = actions;
  }

  /** The answer goes on. */
  append(text: string): void {
    if (this.#fence === undefined) {
      this.#text += text;
      return this.#draw();
    }
    const { lines, code } = this.#fence;
    const { code: more, rest } = lines.take(text);
    if (more !== "") code.append(more);
    if (rest === undefined) return undefined;
    // The fence is closed, which nothing behind it changes.
    code.end();
    this.#fence = undefined;
    this.#open = [];
    this.#text = rest;
    this.#settled = 0;
    return rest === "" ? undefined : this.#draw();
  }

  #draw(): void {
    const rest = this.#text.slice(this.#settled);
    const { settled, fence } = blocksIn(rest);
    for (const node of this.#open) (node as ChildNode).remove();
    if (settled > 0) {
      this.element.append(draw(rest.slice(0, settled), this.#actions));
      this.#settled += settled;
    }
    const open = rest.slice(settled);
    // Lines that are whole; the last one may be the end of the fence, and is looked at as it comes.
    const whole = open.slice(0, open.lastIndexOf("\n") + 1);
    const { fragment, last } = drawOpen(fence === undefined ? open : whole, this.#actions, true);
    this.#open = [...fragment.childNodes];
    this.element.append(fragment);
    if (fence === undefined || last === undefined) return;
    this.#fence = { lines: new FenceLines(fence), code: last };
    this.append(open.slice(whole.length));
  }
}

/** How a fence begins: its character, how many of them, and the spaces before. */
interface Fence {
  mark: string;
  indent: number;
}

/** The lines of a fence that is open, as they come. */
class FenceLines {
  readonly #fence: Fence;
  /** The newest line so far. */
  #line = "";
  /** How much of that was answered. */
  #given = 0;

  constructor(fence: Fence) {
    this.#fence = fence;
  }

  /** The code in a text, and what is behind the end of the fence where that is in it. */
  take(text: string): { code: string; rest?: string } {
    let code = "";
    let at = 0;
    while (at < text.length) {
      const end = text.indexOf("\n", at);
      this.#line += end < 0 ? text.slice(at) : text.slice(at, end);
      at = end < 0 ? text.length : end + 1;
      if (end >= 0 && this.#closes()) return { code, rest: text.slice(at) };
      // A line that may yet become the end is held back.
      if (end >= 0 || !this.#mayClose()) code += this.#more();
      if (end < 0) break;
      code += "\n";
      this.#line = "";
      this.#given = 0;
    }
    return { code };
  }

  /** What is new of the line, without the indentation of the fence. */
  #more(): string {
    const { length } = this.#line.slice(0, this.#fence.indent).match(/^ */)?.[0] ?? "";
    const from = Math.max(this.#given, length);
    this.#given = Math.max(this.#given, this.#line.length);
    return this.#line.slice(from);
  }

  #closes(): boolean {
    const [, marks = ""] = /^ {0,3}(`+|~+)[ \t]*\r?$/.exec(this.#line) ?? [];
    return marks.startsWith(this.#fence.mark);
  }

  #mayClose(): boolean {
    return this.#given === 0 && /^ {0,3}(`*|~*)[ \t]*\r?$/.test(this.#line);
  }
}

/** How many characters at the start are in blocks that nothing behind them changes; and the fence that is open behind. */
function blocksIn(text: string): { settled: number; fence: Fence | undefined } {
  const blocks = markdown.parse(text, {}).filter((token) => token.level === 0 && token.map !== null && token.nesting >= 0);
  const lines = blocks.map((token) => token.map?.[0] ?? 0);
  const last = lines.at(-1) ?? 0;
  let settled = 0;
  for (let line = 0; line < last; line += 1) settled = text.indexOf("\n", settled) + 1;
  return { settled, fence: openFence(blocks.at(-1), text.slice(settled)) };
}

/** The fence that a block is, if its first line is whole and its end is not there. */
function openFence(token: { type: string; markup: string } | undefined, block: string): Fence | undefined {
  const first = block.indexOf("\n");
  if (token?.type !== "fence" || first < 0) return undefined;
  const fence = { mark: token.markup, indent: block.search(/[^ ]/) };
  return new FenceLines(fence).take(block.slice(first + 1)).rest === undefined ? fence : undefined;
}
