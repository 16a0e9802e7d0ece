// Allowed targets of links in a model's answer. The webview draws no other link, and the host follows no other. Imports no
// editor and no document.

/** An https page, or a file whose path is still to be found inside the folder; `line` counts from 1. */
export type Target = { kind: "page"; address: string } | { kind: "file"; path: string; line?: number };

/** The target of a link; undefined where it is neither. */
export function targetOf(href: string): Target | undefined {
  if (/^https:/i.test(href)) return pageOf(href);
  // A # that is written %23 belongs to the path, as in the name of a folder.
  const [before = "", behind = ""] = href.split("#");
  const named = decoded(before);
  // A scheme has two letters and more, a drive of Windows has one; a number behind a name is a line.
  const hasScheme = /^[a-z][a-z0-9+.-]+:(?!\d+(?::\d+)?$)/i.test(named);
  // Two strokes name another machine, which must not even be asked.
  if (hasScheme || /^[\\/]{2}/.test(named) || /\p{Cc}/u.test(named)) return undefined;
  const hash = /^L?(\d+)/.exec(behind)?.[1];
  const [, path = "", colon] = /^(.*?)(?::(\d+)(?::\d+)?)?$/.exec(named) ?? [];
  const line = Number.parseInt(hash ?? colon ?? "", 10);
  if (path === "") return undefined;
  return { kind: "file", path, ...(line >= 1 && { line }) };
}

function pageOf(href: string): Target | undefined {
  return URL.canParse(href) ? { kind: "page", address: new URL(href).href } : undefined;
}

function decoded(href: string): string {
  try {
    return decodeURIComponent(href);
  } catch {
    return href;
  }
}
