// What a rewind can do about files: which of them the edit tools changed since and whether somebody else did after them,
// and what nobody can restore. A function of what it is given: no editor, no disk.

import type { Part, Snapshot } from "@threadhold/client";
import type { RewindFile, RewindLost } from "../view.ts";
import type { BeforeImage, CallName } from "./before-images.ts";

/** A call that a rewind takes out of the conversation. */
export interface CutCall extends CallName {
  name: string;
  given: { [name: string]: unknown };
  /** Files that the tool said it changed. */
  effects: string[];
  /** Whether it ran and did not fail. */
  succeeded: boolean;
}

/** How a file stands now. */
export interface FileNow {
  isThere: boolean;
  /** SHA-256 of what is on disk. */
  sha256?: string;
  /** Whether an editor holds changes that are not saved. */
  isUnsaved: boolean;
  /** Whether it says what it said before; unknown where its earlier text is not kept. */
  isAsBefore: boolean;
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

/** What the first of these changes to each file began from, and what came of the last. */
export interface Changed {
  first: BeforeImage;
  last: BeforeImage;
  /** Whether each change began from what the one before it left. */
  isUnbroken: boolean;
}

/** The changes by file. `textHash` tells what a text of `BeforeImage.text` is on disk, where that is known. */
export function byFile(images: readonly BeforeImage[]): Map<string, Changed> {
  const files = new Map<string, Changed>();
  for (const image of images) {
    const known = files.get(image.path);
    if (known === undefined) files.set(image.path, { first: image, last: image, isUnbroken: true });
    else {
      // The name of a text is the hash of the file that says it, where the file is plain UTF-8.
      const goesOn = image.text === undefined || known.last.after === undefined || image.text === known.last.after;
      files.set(image.path, { first: known.first, last: image, isUnbroken: known.isUnbroken && goesOn });
    }
  }
  return files;
}

/** What can be done about a file that the edit tools changed; undefined where nothing is left to do. */
export function fileOf(path: string, { first, last, isUnbroken }: Changed, now: FileNow, isKept: boolean): RewindFile | RewindLost | undefined {
  if (first.isNew) {
    if (!now.isThere) return undefined;
    return { path, how: "delete", ...othersOf(last, now, isUnbroken) };
  }
  if (!isKept) return { what: path, why: "what it said before is not kept any more" };
  if (now.isThere && now.isAsBefore) return undefined;
  return now.isThere ? { path, how: "restore", ...othersOf(last, now, isUnbroken) } : { path, how: "create" };
}

function othersOf(last: BeforeImage, { sha256, isUnsaved }: FileNow, isUnbroken: boolean): Pick<RewindFile, "others"> {
  if (isUnsaved) return { others: "unsaved" };
  if (last.after === undefined) return { others: "unknown" };
  if (last.after !== sha256) return { others: "since" };
  return isUnbroken ? {} : { others: "between" };
}

/** Names of tools that look and change nothing, for those that do not say what they do. */
const LOOKS = /read|list|search|find|get|fetch|grep|view|show|symbols|usages|problems|errors|diagnos|think|todo|recall|ask/i;

/** Calls of tools that may have changed something that nobody can restore. `isOurs`: the edit tools and those that look. */
export function unknownChanges(calls: readonly CutCall[], isOurs: (name: string) => boolean): CutCall[] {
  return calls.filter(({ name, effects }) => !isOurs(name) && (effects.length > 0 || !LOOKS.test(name)));
}

/** Files that a call names, in whatever argument; words of a command too. */
export function namedBy({ given, effects }: CutCall): string[] {
  const words = Object.values(given).flatMap((value) => (typeof value === "string" && value.length < 4_000 ? value.split(/[\s"'`;|&<>()=]+/) : []));
  const paths = words.map((word) => word.replace(/^file:\/\//, "")).filter((word) => /^[^-\s].*[./]/.test(word) && !/^[a-z]+:\/\//i.test(word));
  return [...new Set([...effects, ...paths])];
}

/** A command in a line. */
export function commandOf({ name, given }: CutCall): string {
  const said = given["command"] ?? given["path"] ?? given["filePath"] ?? given["name"];
  return typeof said === "string" ? `${name}: ${said.split("\n", 1)[0]?.slice(0, 120) ?? ""}` : name;
}
