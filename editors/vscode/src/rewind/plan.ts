// Plans a rewind of files: which files the edit tools changed since then, whether anybody else did after them, and which
// changes cannot be restored. Pure: no editor, no disk.

import { resolve } from "node:path";
import type { CommandEffectsResult, Part, Snapshot } from "@threadhold/client";
import type { ReadEffects } from "../session/command-effects.ts";
import type { RewindFile, RewindLost } from "../shared/view.ts";
import type { BeforeImage, CallName } from "./before-images.ts";

/** A call that a rewind takes out of the conversation. */
export interface CutCall extends CallName {
  name: string;
  given: { [name: string]: unknown };
  /** Files that the tool said it changed. */
  effects: string[];
  /** True if it ran and did not fail. */
  succeeded: boolean;
}

/** How a file stands now. */
export interface FileNow {
  isThere: boolean;
  /** SHA-256 of what is on disk. */
  sha256?: string;
  /** SHA-256 of what an editor holds and has not saved. */
  unsaved?: string;
  /** Why nothing can be written there. */
  obstacle?: string;
}

/** True if a file stands as it did. */
export function isSame(one: FileNow, other: FileNow): boolean {
  return one.isThere === other.isThere && one.sha256 === other.sha256 && one.unsaved === other.unsaved && one.obstacle === other.obstacle;
}

/** The calls of the messages from one on, in their order. `read` reads the arguments of a call. */
export function callsFrom(
  { messages }: Pick<Snapshot, "messages">,
  messageId: string,
  read: (call: Extract<Part, { type: "toolCall" }>) => CutCall["given"] | undefined,
): CutCall[] {
  const from = messages.findIndex(({ id }) => id === messageId);
  if (from < 0) return [];
  const cut = messages.slice(from);
  const results = new Map<string, Extract<Part, { type: "toolResult" }>>();
  for (const { turnId, parts } of cut) {
    for (const part of parts) if (part.type === "toolResult") results.set(`${turnId}\n${part.toolCallId}`, part);
  }
  return cut.flatMap(({ turnId, parts }) =>
    parts.flatMap((part) => {
      if (part.type !== "toolCall") return [];
      const result = results.get(`${turnId}\n${part.id}`);
      const effects = (result?.effects ?? []).map(({ path }) => path);
      const succeeded = result !== undefined && result.isError !== true;
      return [{ turnId, toolCallId: part.id, name: part.name, given: read(part) ?? {}, effects, succeeded }];
    }),
  );
}

/** First and last change of a file within the range. */
export interface Changed {
  first: BeforeImage;
  last: BeforeImage;
  /** True if each change began from what the one before it left. */
  isUnbroken: boolean;
}

/** The changes by file. */
export function byFile(images: readonly BeforeImage[]): Map<string, Changed> {
  const files = new Map<string, Changed>();
  for (const image of images) {
    const known = files.get(image.path);
    if (known === undefined) files.set(image.path, { first: image, last: image, isUnbroken: true });
    else {
      const goesOn = image.content === undefined || known.last.after === undefined || image.content === known.last.after;
      files.set(image.path, { first: known.first, last: image, isUnbroken: known.isUnbroken && goesOn });
    }
  }
  return files;
}

/** How a file that the edit tools changed can be restored, or why not; undefined if nothing is left to do. */
export function fileOf(
  path: string,
  { first, last, isUnbroken }: Changed,
  now: FileNow,
  isKept: boolean,
): RewindFile | RewindLost | undefined {
  if (first.isNew) {
    if (now.obstacle !== undefined) return { what: path, why: `${now.obstacle}, so it is not deleted` };
    return now.isThere ? { path, how: "delete", ...othersOf(last, now, isUnbroken) } : undefined;
  }
  if (now.isThere && now.unsaved === undefined && now.sha256 !== undefined && now.sha256 === first.content) return undefined;
  if (!isKept)
    return {
      what: path,
      why:
        first.content === undefined
          ? "its earlier contents were not kept: it was too large, or a link"
          : "its earlier contents are no longer kept",
    };
  if (now.obstacle !== undefined) return { what: path, why: `${now.obstacle}, so it is not restored` };
  if (now.isThere) return { path, how: "restore", ...othersOf(last, now, isUnbroken) };
  return { path, how: "create", ...(now.unsaved !== undefined && { others: "unsaved" as const }) };
}

function othersOf(last: BeforeImage, { sha256, unsaved }: FileNow, isUnbroken: boolean): Pick<RewindFile, "others"> {
  if (unsaved !== undefined) return { others: "unsaved" };
  if (last.after === undefined) return { others: "unknown" };
  if (last.after !== sha256) return { others: "since" };
  return isUnbroken ? {} : { others: "between" };
}

/** Words in the names of tools that look and change nothing, for those that do not say what they do. */
const LOOKS = /\b(read|list|search|find|get|fetch|grep|view|show|symbols?|usages?|problems?|errors?|diagnos\w+|think|todos?|recall|ask)\b/i;
/** Words of those that do more than look. */
const CHANGES = /\b(write|edit|replace|delete|remove|create|update|set|insert|rename|move|apply|patch|run|execute|install)\b/i;

function looksOnly(name: string): boolean {
  const words = name.replace(/([a-z])([A-Z])/g, "$1 $2").replace(/[^A-Za-z]+/g, " ");
  return LOOKS.test(words) && !CHANGES.test(words);
}

/** Calls of tools that may have changed something that nobody can restore. `isOurs`: the edit tools and those that look. */
export function unknownChanges(calls: readonly CutCall[], isOurs: (name: string) => boolean): CutCall[] {
  return calls.filter(({ name, effects }) => !isOurs(name) && (effects.length > 0 || !looksOnly(name)));
}

/** Arguments that are a command of a shell. */
const COMMANDS = new Set(["command", "cmd", "script"]);

/** Paths that a call names. */
export interface Named {
  /** Paths that it deletes or moves. */
  gone: string[];
  /** Other paths that it names, and may have written. */
  others: string[];
  /** Parts of it that may take files away without naming them, and why that is not known. */
  unclear: { part: string; why: string }[];
}

/** Programs that take files away. */
const TAKES = /(^|[\s`/])(rm|rmdir|mv|unlink|shred|trash|git|find|xargs)\s/;

/** Adds what the sidecar read in a command, or that it could not be read. */
function addCommand(command: string, read: CommandEffectsResult | undefined, found: Named): void {
  if (read === undefined) return void found.unclear.push({ part: command, why: "its effects on files were not read" });
  for (const { kind, path, from, ifFolder, pattern } of read.effects) {
    const taken = kind === "move" ? from : kind === "delete" ? path : undefined;
    if (pattern === true && taken !== undefined) found.unclear.push({ part: taken, why: "deletes or moves files without naming them" });
    else if (taken !== undefined) found.gone.push(taken);
    if (kind !== "delete" && kind !== "read" && pattern !== true) found.others.push(path, ...(ifFolder === undefined ? [] : [ifFolder]));
  }
  // A script may write files, which are found by their time; only these take files away, which leave no trace.
  for (const { part } of read.unknown)
    if (TAKES.test(part)) found.unclear.push({ part, why: "may delete or change files without naming them" });
}

/** Paths in a call's arguments, shell commands included. `base` is the folder that relative ones are below. */
export async function namedBy({ given, effects }: CutCall, base: string, read: ReadEffects): Promise<Named> {
  const folder = given["folder"] ?? given["cwd"];
  const found: Named = { gone: [], others: [...effects], unclear: [] };
  for (const [name, value] of Object.entries(given)) {
    if (typeof value !== "string") continue;
    if (COMMANDS.has(name)) {
      const start = typeof folder === "string" ? resolve(base, folder) : base;
      addCommand(value, await read(value, start), found);
    } else if (value.length < MOST_PATH && !value.includes("\n") && !/^(?!file:)[a-z]+:\/\//i.test(value))
      found.others.push(value.replace(/^file:\/\//, ""));
  }
  return { ...found, gone: [...new Set(found.gone)], others: [...new Set(found.others)] };
}

/** No path has more characters. */
const MOST_PATH = 4_096;

/** A call in a line, with where it ran. */
export function commandOf({ name, given }: CutCall): string {
  const said = given["command"] ?? given["path"] ?? given["filePath"] ?? given["name"];
  const folder = given["folder"];
  const where = typeof folder === "string" && !["", "."].includes(folder) ? ` (in ${folder})` : "";
  return typeof said === "string" ? `${name}: ${shortened(said)}${where}` : name;
}

/** The first line of a text, or its beginning. */
export function shortened(text: string): string {
  const [line = "", ...more] = text.trim().split("\n");
  return more.length > 0 || line.length > MOST_SHOWN ? `${line.slice(0, MOST_SHOWN)}…` : line;
}

const MOST_SHOWN = 120;
