// What is Markdown in an answer: the common rules, links that lead somewhere, and math. No document here.

import MarkdownIt from "markdown-it";
import markdownItMath from "markdown-it-math/no-default-renderer";
import { targetOf } from "../../shared/link.ts";

export const markdown = new MarkdownIt("default", { html: false, linkify: true, typographer: false, breaks: false });

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

// All that stands behind a fence: it may name a file.
const { fence } = markdown.renderer.rules;
markdown.renderer.rules["fence"] = (tokens, at, ...rest) => {
  const info = tokens[at]?.info.trim() ?? "";
  const drawn = fence?.(tokens, at, ...rest) ?? "";
  return info === "" ? drawn : drawn.replace("<code", `<code data-info="${escapeHtml(info)}"`);
};

// As models write it. It is drawn once a library for it is there; until then, and where it is not math, its source stands.
const sourceOf = (kind: "inline" | "block") => (source: string) => `<code class="math ${kind}">${escapeHtml(source)}</code>`;
markdown.use(markdownItMath, {
  inlineDelimiters: ["$", ["\\(", "\\)"]],
  blockDelimiters: ["$$", ["\\[", "\\]"]],
  inlineRenderer: sourceOf("inline"),
  blockRenderer: (source: string) => `<div class="math-block" tabindex="0">${sourceOf("block")(source)}</div>`,
});
// Between the signs of two prices is no math.
markdown.core.ruler.push("prices", ({ tokens }) => {
  for (const { children } of tokens) {
    for (const [at, token] of (children ?? []).entries()) {
      if (token.type !== "math_inline" || token.markup !== "$") continue;
      const behind = children?.[at + 1];
      if (behind?.type !== "text" || !/^\d/.test(behind.content)) continue;
      token.type = "text";
      token.content = `$${token.content}$`;
    }
  }
});
