// A mention that is being typed into the prompt: `@` and the beginning of a name. No editor and no document here.

/** Something that a mention may mean. */
export interface MentionItem {
  of: Mentionable;
  /** Its path in the folder, or its name: the word of the prompt that it becomes. */
  path: string;
  /** What it is called. Default: the last name of the path. */
  name?: string;
  note?: string;
}

/** What a mention attaches: something of the folder or of a tool server by its address, or what the editor has just one of. */
export type Mentionable =
  | { kind: "file" | "folder"; uri: string }
  /** `line` is where its name stands, from 0. */
  | { kind: "symbol"; uri: string; line: number; name: string }
  | { kind: "resource"; server: string; uri: string }
  | { kind: "selection" | "problems" | "changes" | "terminal" };

/** Where a mention begins in the text, and what is typed of its name. */
export interface Mention {
  from: number;
  query: string;
}

/** The mention in front of the cursor; undefined where there is none, such as in an address of mail. */
export function mentionAt(text: string, cursor: number): Mention | undefined {
  return signAt("@", text, cursor);
}

/** The name of a tool in front of the cursor; undefined where there is none, such as in a heading. */
export function toolAt(text: string, cursor: number): Mention | undefined {
  return signAt("#", text, cursor);
}

function signAt(sign: "@" | "#", text: string, cursor: number): Mention | undefined {
  const [, query] = new RegExp(`(?:^|\\s)${sign}([^\\s${sign}]*)$`).exec(text.slice(0, cursor)) ?? [];
  return query === undefined ? undefined : { from: cursor - query.length - 1, query };
}

/** Those of these tools that a text names behind a `#`, each once. */
export function toolsNamedIn(text: string, known: ReadonlySet<string>): string[] {
  const named = [...text.matchAll(/(?<=^|\s)#([\w-]+)/g)].map(([, name]) => name ?? "");
  return [...new Set(named)].filter((name) => known.has(name));
}

/** The text with this name in place of the mention, and where the cursor stands behind it. */
export function mentioned(text: string, { from, query }: Mention, name: string): { text: string; cursor: number } {
  const before = `${text.slice(0, from + 1)}${name} `;
  return { text: before + text.slice(from + 1 + query.length).replace(/^ /, ""), cursor: before.length };
}

/** The better matches of a query among paths: those whose name begins with it, then those that contain it, shorter ones first. */
export function ranked<Of extends { path: string }>(query: string, found: readonly Of[], most: number): Of[] {
  const wanted = query.toLowerCase();
  const rank = ({ path }: Of): number => {
    const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
    return name.startsWith(wanted) ? 0 : name.includes(wanted) ? 1 : 2;
  };
  const fits = found.filter(({ path }) => path.toLowerCase().includes(wanted));
  return [...fits].sort((a, b) => rank(a) - rank(b) || a.path.length - b.path.length || (a.path < b.path ? -1 : 1)).slice(0, most);
}

/** Lines for a prompt: a folder may have more problems than fit into one. */
const MOST_LINES = 200;

/** The lines as one text; of many, the first, and how many more there are. */
export function textOfLines(lines: readonly string[]): string {
  const rest = lines.length - MOST_LINES;
  return [...lines.slice(0, MOST_LINES), ...(rest > 0 ? [`… and ${rest} more`] : [])].join("\n");
}
