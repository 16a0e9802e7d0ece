// Markdown of a model as elements. HTML in it is shown as text, pictures from elsewhere are links, and a link has no
// address that a browser acts on: the host decides where it leads. An answer that is being written is drawn block by block, so that
// its length costs once.

import MarkdownIt from "markdown-it";
import { targetOf } from "../shared/link.ts";
import { type CodeActions, frameCode } from "./code-block.ts";
import { el } from "./dom.ts";

const markdown = new MarkdownIt("default", { html: false, linkify: true, typographer: false, breaks: false });
const escapeHtml = markdown.utils.escapeHtml;
// What is no link stays as it was written.
markdown.validateLink = (href) => targetOf(href) !== undefined;
// Without `href`: the webview's host acts on each link that has one, before the panel and before any question.
const opening = (href: string): string => `<a role="link" tabindex="0" data-href="${escapeHtml(href)}" title="${escapeHtml(href)}">`;
markdown.renderer.rules["link_open"] = (tokens, at) => opening(String(tokens[at]?.attrGet("href") ?? ""));
// What a model says must not fetch anything.
markdown.renderer.rules["image"] = (tokens, at) => {
  const { attrs, content } = tokens[at] ?? {};
  const source = String(attrs?.find(([name]) => name === "src")?.[1] ?? "");
  return `${opening(source)}${escapeHtml(content === undefined || content === "" ? source : content)}</a>`;
};

/** Where a link leads that somebody clicks or presses Enter on; undefined where that is no link. */
export function followed(event: MouseEvent | KeyboardEvent): string | undefined {
  if (event instanceof KeyboardEvent && event.key !== "Enter") return undefined;
  return (event.target as Element).closest<HTMLElement>("a[data-href]")?.dataset["href"];
}

/** A text as elements. */
export function draw(text: string, actions: CodeActions): DocumentFragment {
  const template = document.createElement("template");
  // markdown-it escapes whatever is HTML in the text; scripts and styles are forbidden by the panel's policy besides.
  template.innerHTML = markdown.render(text);
  for (const block of template.content.querySelectorAll("pre")) {
    frameCode(block, actions);
  }
  for (const table of template.content.querySelectorAll("table")) {
    const frame = el("div", { class: "table", tabIndex: 0 });
    table.replaceWith(frame);
    frame.append(table);
  }
  return template.content;
}

/** An answer that is being written. Blocks before the newest one are drawn once and stay. */
export class Growing {
  readonly element = el("div", { class: "markdown" });
  readonly #actions: CodeActions;
  #text = "";
  /** How much of the text is in blocks that stay. */
  #settled = 0;
  #open: Node[] = [];

  constructor(actions: CodeActions) {
    this.#actions = actions;
  }

  /** The answer goes on. */
  append(text: string): void {
    this.#text += text;
    const rest = this.#text.slice(this.#settled);
    const settled = settledLength(rest);
    for (const node of this.#open) (node as ChildNode).remove();
    if (settled > 0) {
      this.element.append(draw(rest.slice(0, settled), this.#actions));
      this.#settled += settled;
    }
    const fragment = draw(rest.slice(settled), this.#actions);
    this.#open = [...fragment.childNodes];
    this.element.append(fragment);
  }
}

/** How many characters at the start are in blocks that nothing behind them changes. */
function settledLength(text: string): number {
  const starts = markdown
    .parse(text, {})
    .filter((token) => token.level === 0 && token.map !== null && token.nesting >= 0)
    .map((token) => token.map?.[0] ?? 0);
  const last = starts.at(-1);
  if (last === undefined || last === 0) return 0;
  let at = 0;
  for (let line = 0; line < last; line += 1) at = text.indexOf("\n", at) + 1;
  return at;
}
