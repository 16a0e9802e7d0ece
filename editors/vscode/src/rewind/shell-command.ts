// Paths that a shell command names, and which of them it deletes. Reads the text only: what just running it would tell
// stays unknown.

import { isAbsolute, join } from "node:path";

/** Paths that a command names, relative to its working directory. */
export interface Named {
  /** Paths that it deletes or moves. */
  gone: string[];
  /** Other paths that it names, and may have written. */
  others: string[];
  /** Parts of it that take files away without naming them. */
  unclear: string[];
}

/** A word, and whether the shell makes something else of it. */
interface Word {
  text: string;
  isOpen: boolean;
}

const TAKES = new Set(["rm", "unlink", "rmdir", "shred", "trash", "del", "erase", "rd", "remove-item"]);
const MOVES = new Set(["mv", "move", "ren", "move-item"]);
/** Words that may precede a command. */
const BEFORE = new Set([
  "sudo",
  "command",
  "env",
  "nohup",
  "time",
  "nice",
  "do",
  "then",
  "else",
  "if",
  "while",
  "until",
  "!",
  "{",
  "exec",
  "xargs",
]);
const SHELLS = new Set(["sh", "bash", "zsh", "dash"]);
/** Characters that end a word or a command, or send what is printed somewhere. */
const SIGNS = /^(?:&>>?|\d*>[>|&]?|<<<|<<-?|<|\|\||&&|[;|&()\n])/;

/** Paths that a shell command names. */
export function namedIn(command: string, folder = ""): Named {
  const found: Named = { gone: [], others: [], unclear: [] };
  let at = folder;
  for (const words of commandsOf(command)) {
    const into = read(words, at, found);
    if (into !== undefined) at = into;
  }
  return { gone: [...new Set(found.gone)], others: [...new Set(found.others)], unclear: [...new Set(found.unclear)] };
}

/** Reads one command; answers the folder that it goes to, where it does. */
function read(given: Word[], folder: string, found: Named): string | undefined {
  const words = withoutBefore(given);
  const [first, ...rest] = words;
  if (first === undefined) return undefined;
  const whole = given.map(({ text }) => text).join(" ");
  const isGit = first.text === "git" && ["rm", "mv", "clean"].includes(rest[0]?.text ?? "");
  const verb = (isGit ? rest[0] : first)?.text.replace(/^.*\//, "").toLowerCase() ?? "";
  const after = isGit ? rest.slice(1) : rest;
  const operands = operandsOf(after);
  const paths = operands.filter(({ isOpen }) => !isOpen).map(({ text }) => under(folder, text));
  const isUnclear = operands.length === 0 || operands.some(({ isOpen }) => isOpen);
  if (SHELLS.has(verb) && rest.some(({ text }) => /^-\w*c$/.test(text))) {
    const inner = namedIn(operands[0]?.text ?? "", folder);
    found.gone.push(...inner.gone);
    found.others.push(...inner.others);
    found.unclear.push(...inner.unclear);
  } else if (verb === "cd") return operands[0] === undefined || operands[0].isOpen ? undefined : under(folder, operands[0].text);
  else if (TAKES.has(verb)) {
    found.gone.push(...paths);
    if (isUnclear) found.unclear.push(whole);
  } else if (MOVES.has(verb)) {
    const isInto = after.some(({ text }) => /^(-t|--target-directory)/.test(text));
    found.gone.push(...(isInto ? paths : paths.slice(0, -1)));
    found.others.push(...(isInto ? [] : paths.slice(-1)));
    if (isUnclear) found.unclear.push(whole);
  } else {
    const isTaking =
      (isGit && !after.some(({ text }) => /^(-\w*n|--dry-run)/.test(text))) ||
      (verb === "find" && / (-delete|-exec(dir)? rm)\b/.test(whole));
    if (isTaking) found.unclear.push(whole);
    found.others.push(...paths);
  }
  return undefined;
}

/** The words from the command's own name on. */
function withoutBefore(words: Word[]): Word[] {
  let at = 0;
  let isAfter = false;
  for (; at < words.length; at += 1) {
    const text = words[at]?.text ?? "";
    if (BEFORE.has(text)) isAfter = true;
    // A variable that is set, or an option of what stands before.
    else if (!/^\w+=/.test(text) && !(isAfter && text.startsWith("-"))) break;
  }
  return words.slice(at);
}

/** The words that are not options. */
function operandsOf(words: Word[]): Word[] {
  const end = words.findIndex(({ text }) => text === "--");
  const before = end < 0 ? words : words.slice(0, end);
  return [...before.filter(({ text }) => text !== "" && !text.startsWith("-")), ...(end < 0 ? [] : words.slice(end + 1))];
}

function under(folder: string, path: string): string {
  return isAbsolute(path) ? path : join(folder, path);
}

/** The commands of a line or of several, as words; where something is printed to is a word too. */
function commandsOf(command: string): Word[][] {
  const commands: Word[][] = [[]];
  /** Ends of texts that the next lines hold. */
  const ends: string[] = [];
  let rest = command;
  while (rest !== "") {
    const sign = SIGNS.exec(rest)?.[0];
    if (sign !== undefined) {
      rest = rest.slice(sign.length);
      if (sign.startsWith("<<") && sign !== "<<<") {
        const [end, left] = wordOf(rest.trimStart());
        ends.push(end.text);
        rest = left;
      } else if (sign === "\n") {
        for (const end of ends.splice(0)) rest = afterText(rest, end);
        commands.push([]);
      } else if (/^(\|\||&&|[;|&()])$/.test(sign)) commands.push([]);
      // To another stream, not to a file.
      else if (sign.endsWith(">&")) rest = rest.replace(/^\s*[\d-]+/, "");
    } else if (/^(\s|\\\n)/.test(rest)) rest = rest.replace(/^([^\S\n]|\\\n)+/, "");
    else if (rest.startsWith("#")) rest = rest.replace(/^[^\n]*/, "");
    else {
      const [word, left] = wordOf(rest);
      commands.at(-1)?.push(word);
      rest = left;
    }
  }
  return commands.filter(({ length }) => length > 0);
}

/** The lines after a text that ends with such a line. */
function afterText(rest: string, end: string): string {
  const lines = rest.split("\n");
  const at = lines.findIndex((line) => line.trim() === end);
  return at < 0 ? "" : `\n${lines.slice(at + 1).join("\n")}`;
}

/** The first word, without its quotes, and what comes behind it. */
function wordOf(text: string): [Word, string] {
  let said = "";
  let isOpen = text.startsWith("~");
  let at = 0;
  while (at < text.length) {
    const piece = /^'([^']*)'?|^"((?:[^"\\]|\\[\s\S])*)"?|^\\([\s\S])|^([^\s'"\\;|&()<>]+)|^([\\])$/.exec(text.slice(at));
    if (piece === null) break;
    const [all, single, double, escaped, plain, last] = piece;
    if (double !== undefined && /[$`]/.test(double)) isOpen = true;
    if (plain !== undefined && /[$`*?[\]{}]/.test(plain)) isOpen = true;
    said += single ?? double?.replace(/\\(["\\$`])/g, "$1") ?? escaped ?? plain ?? last ?? "";
    at += all.length;
  }
  // A sign that stands for itself here.
  if (at === 0) return [{ text: text[0] ?? "", isOpen: true }, text.slice(1)];
  return [{ text: said, isOpen }, text.slice(at)];
}
