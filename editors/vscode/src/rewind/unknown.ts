// What commands and tools of others changed or took away since, as far as it can be seen: by what their calls name, and by
// what was written in the folder. How a call is read is plan.ts's.

import type * as vscode from "vscode";
import { isTraced } from "../tools/toolbox.ts";
import type { RewindLost } from "../view.ts";
import { isMissing, pathOf, timeOf, uriOf, writtenSince } from "./files.ts";
import { commandOf, type CutCall, namedBy, shortened, unknownChanges } from "./plan.ts";

/** Names that a person reads of files that cannot be restored; of the others, how many there are. */
const MOST_NAMED = 20;

/** What cannot be restored of what these calls did; `known` are files that somebody tells of already. */
export async function unknownOf(calls: readonly CutCall[], since: number, folder: vscode.Uri, known: ReadonlySet<string>): Promise<RewindLost[]> {
  const unknown = unknownChanges(calls, isTraced);
  if (unknown.length === 0) return [];
  const lost = new Map<string, string>();
  for (const call of unknown) {
    const { gone, others, unclear } = namedBy(call);
    const effects = new Set(call.effects.map((path) => pathOf(path, folder)));
    const taken = new Set(gone.map((path) => pathOf(path, folder)));
    for (const path of new Set([...taken, ...others.map((name) => pathOf(name, folder))])) {
      if (known.has(path) || path === "") continue;
      const { fsPath } = uriOf(path, folder);
      if (effects.has(path) || ((await timeOf(fsPath)) ?? 0) >= since) lost.set(path, `changed by ${call.name}, which keeps no earlier version`);
      else if (taken.has(path) && (await isMissing(fsPath))) lost.set(path, `is gone; ${call.name} was told to remove or move it`);
    }
    for (const part of unclear) lost.set(shortened(part), "took files away that it does not name");
  }
  const { paths, isCut } = await writtenSince(since, folder);
  for (const path of paths) {
    if (!known.has(path) && !lost.has(path)) lost.set(path, "changed on disk since, by a command or by somebody else");
  }
  const named = [...lost].map(([what, why]) => ({ what, why }));
  const more = named.length - MOST_NAMED;
  if (more > 0) named.splice(MOST_NAMED, more, { what: `${more} more`, why: "changed on disk or taken away since" });
  if (isCut) named.push({ what: "Other files", why: "the folder has too many; the first 20,000 were looked at for changes" });
  // What ran says more than the files that are known of.
  if (named.length > 0) named.push(...unknown.slice(0, MOST_NAMED).map((call) => ({ what: commandOf(call), why: "what else it changed is not known" })));
  return named;
}
