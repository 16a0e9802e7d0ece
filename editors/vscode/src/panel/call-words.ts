// What a call does, in words for people: `Ran cargo test` rather than the name of a tool with its arguments. A pure mapping
// from a name and arguments; no editor.

import type { CallState, Phrase, ToolIcon } from "../shared/view.ts";
import { visibleLine } from "../shared/visible.ts";

/** Characters of the main argument. */
export const MOST_ABOUT = 200;
/** Characters of what stands beside it, such as a folder, and of a tool's name. */
const MOST_BESIDE = 80;

export interface CallWords {
  icon: ToolIcon;
  /** The main argument in one line. */
  about: string;
  /** What it does, with no argument. */
  bare: readonly Phrase[];
  /** Before it ran. */
  present: readonly Phrase[];
  /** After it ran. */
  past: readonly Phrase[];
}

type Given = { [name: string]: unknown };

/** How a known tool is told. */
interface Telling {
  icon: ToolIcon;
  present: string;
  past: string;
  /** What follows the verb where the arguments cannot be read. */
  object: string;
  /** What follows the verb; undefined where the main argument is missing. */
  rest(given: Given): Phrase[] | undefined;
}

const OWN: ReadonlyMap<string, Telling> = new Map([
  ["read_file", { icon: "file", present: "Read", past: "Read", object: "a file", rest: (given) => path(given, lines(given)) }],
  ["list_files", { icon: "list", present: "List", past: "Listed", object: "files", rest: listed }],
  ["search_text", { icon: "search", present: "Search", past: "Searched", object: "files", rest: searched }],
  ["edit_file", { icon: "edit", present: "Edit", past: "Edited", object: "a file", rest: (given) => path(given) }],
  ["write_file", { icon: "write", present: "Write", past: "Wrote", object: "a file", rest: (given) => path(given) }],
  ["todo", { icon: "list", present: "Update", past: "Updated", object: "the todo list", rest: () => [plain("the todo list")] }],
  ["run_command", { icon: "terminal", present: "Run", past: "Ran", object: "a command", rest: ran }],
] satisfies [string, Telling][]);

/** The words for a call; `given` is its arguments as JSON, perhaps not whole. */
export function callWords(name: string, given: string): CallWords {
  const read = objectIn(given);
  const about = visibleLine(read === undefined ? given : mainOf(read), MOST_ABOUT);
  const own = OWN.get(name);
  if (own === undefined) {
    const bare = plain(nameInWords(name));
    const whole = about === "" ? [bare] : [plain(`${bare.text} `), code(about)];
    return { icon: "tool", about, bare: [bare], present: whole, past: whole };
  }
  const { icon, present, past, object } = own;
  const rest = read === undefined ? undefined : own.rest(read);
  const tell = (verb: string): Phrase[] => {
    if (rest !== undefined) return [plain(`${verb} `), ...rest];
    return about === "" ? [plain(`${verb} ${object}`)] : [plain(`${verb} ${object} `), code(about)];
  };
  return { icon, about, bare: [plain(`${present} ${object}`)], present: tell(present), past: tell(past) };
}

/** Which of the words fit how a call stands. */
export function phrasesFor(words: CallWords, state: CallState, exitCode: number | undefined): readonly Phrase[] {
  // Who decides about a call reads its arguments whole, and not a line of them.
  if (state === "asked" || state === "open") return words.bare;
  // One that failed did nothing, unless it is a command with an end.
  return state === "done" || (state === "failed" && exitCode !== undefined) ? words.past : words.present;
}

/** The name of a tool as words: `github_createIssue` is `Github create issue`. */
export function nameInWords(name: string): string {
  const words = visibleLine(name, MOST_BESIDE)
    .replaceAll(/([\p{Ll}\d])(\p{Lu})/gu, "$1 $2")
    .replaceAll(/(\p{Lu})(\p{Lu}\p{Ll})/gu, "$1 $2")
    .split(/[\s_.\-/:]+/)
    .filter((word) => word !== "")
    // An abbreviation stays one.
    .map((word) => (/^\p{Lu}{2,}$/u.test(word) ? word : word.toLowerCase()))
    .join(" ");
  return words === "" ? name : words.charAt(0).toUpperCase() + words.slice(1);
}

function path({ path }: Given, beside = ""): Phrase[] | undefined {
  return typeof path === "string" && path !== "" ? [plain(`${visibleLine(path, MOST_ABOUT)}${beside}`)] : undefined;
}

function lines({ startLine: from, endLine: to }: Given): string {
  if (typeof from !== "number") return typeof to === "number" ? `, lines 1-${to}` : "";
  if (typeof to !== "number") return `, from line ${from}`;
  return from === to ? `, line ${from}` : `, lines ${from}-${to}`;
}

function listed({ pattern }: Given): Phrase[] {
  return isText(pattern) ? [plain("files matching "), code(visibleLine(pattern, MOST_ABOUT))] : [plain("files")];
}

function searched({ query, isRegex, include }: Given): Phrase[] | undefined {
  if (!isText(query)) return undefined;
  const how = isRegex === true ? " (regular expression)" : "";
  const where = isText(include) ? ` in ${visibleLine(include, MOST_BESIDE)}` : "";
  const beside = `${how}${where}`;
  return [plain("for "), code(visibleLine(query, MOST_ABOUT)), ...(beside === "" ? [] : [plain(beside)])];
}

function ran({ command, folder }: Given): Phrase[] | undefined {
  if (!isText(command)) return undefined;
  const where = isText(folder) && folder !== "." ? [plain(` in ${visibleLine(folder, MOST_BESIDE)}`)] : [];
  return [code(visibleLine(command, MOST_ABOUT)), ...where];
}

/** Arguments that say most to a person, the best first. */
const TELLING = ["command", "path", "filePath", "file_path", "query", "pattern", "url", "name"];

/** The argument that says most: one of those, or the first text. */
function mainOf(given: Given): string {
  const name = TELLING.find((name) => isText(given[name]));
  return name === undefined ? (Object.values(given).find((value) => typeof value === "string") ?? "") : String(given[name]);
}

function objectIn(text: string): Given | undefined {
  try {
    const read: unknown = JSON.parse(text);
    return typeof read === "object" && read !== null && !Array.isArray(read) ? { ...read } : undefined;
  } catch {
    return undefined;
  }
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function plain(text: string): Phrase {
  return { text };
}

function code(text: string): Phrase {
  return { text, isCode: true };
}
