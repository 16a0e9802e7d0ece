// Finds changes by commands and other extensions' tools, as far as they can be detected: from the paths that their calls
// name, and from files written in the folder since then.

import type * as vscode from "vscode";
import type { ReadEffects } from "../session/command-effects.ts";
import type { RewindLost } from "../shared/view.ts";
import { isTraced } from "../tools/toolbox.ts";
import type { CoverOf } from "./before-images.ts";
import { isMissing, pathOf, timeOf, uriOf, writtenSince } from "./files.ts";
import { type CutCall, commandOf, namedBy, shortened, unknownChanges } from "./plan.ts";

/** Names that a person reads of files that cannot be restored; of the others, how many there are. */
const MOST_NAMED = 20;

/** Effects of these calls that cannot be restored, without the files in `known`. */
export async function unknownOf(
  calls: readonly CutCall[],
  since: number,
  folder: vscode.Uri,
  known: ReadonlySet<string>,
  read: ReadEffects,
  coverOf: CoverOf,
): Promise<RewindLost[]> {
  const unknown = unknownChanges(calls, isTraced);
  if (unknown.length === 0) return [];
  const lost = new Map<string, string>();
  const uncovered: { call: CutCall; why: string | undefined }[] = [];
  for (const call of unknown) {
    const cover = coverOf(call);
    if (cover !== true) uncovered.push({ call, why: cover });
    const { gone, others, unclear } = await namedBy(call, folder.fsPath, read);
    const effects = new Set(call.effects.map((path) => pathOf(path, folder)));
    const taken = new Set(gone.map((path) => pathOf(path, folder)));
    for (const path of new Set([...taken, ...others.map((name) => pathOf(name, folder))])) {
      if (known.has(path) || path === "") continue;
      const { fsPath } = uriOf(path, folder);
      if (effects.has(path) || ((await timeOf(fsPath)) ?? 0) >= since)
        lost.set(path, `changed by ${call.name}, which keeps no earlier contents`);
      else if (taken.has(path) && (await isMissing(fsPath))) lost.set(path, `missing; ${call.name} was called to delete or move it`);
    }
    if (cover !== true) for (const { part, why } of unclear) lost.set(shortened(part), why);
  }
  const { paths, isCut } = uncovered.length === 0 ? { paths: [], isCut: false } : await writtenSince(since, folder);
  for (const path of paths) {
    if (!known.has(path) && !lost.has(path)) lost.set(path, "changed on disk since then, by a command or outside the agent");
  }
  const named = [...lost].map(([what, why]) => ({ what, why }));
  const more = named.length - MOST_NAMED;
  if (more > 0) named.splice(MOST_NAMED, more, { what: `${more} more`, why: "changed or deleted on disk since then" });
  if (isCut) named.push({ what: "Other files", why: "the folder is too large; only the first 20,000 files were checked" });
  // What ran says more than the files that are known of.
  if (named.length > 0)
    named.push(...uncovered.slice(0, MOST_NAMED).map(({ call, why }) => ({ what: commandOf(call), why: othersOf(why) })));
  return named;
}

function othersOf(why: string | undefined): string {
  const others = "its other changes, if any, are unknown";
  return why === undefined ? others : `${others}, because ${why}`;
}
