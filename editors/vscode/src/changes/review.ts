// Changes of the agent that are neither kept nor undone, and the baseline of each file. Pure: no editor, no disk.

import type { BeforeImage } from "../rewind/before-images.ts";
import { byFile, type Changed, type FileNow } from "../rewind/plan.ts";
import type { ChangedFiles, ChangedItem, RewindFile, RewindLost } from "../shared/view.ts";
import { countsOf, type Hunk } from "./hunks.ts";

/** Name of the contents of a file: equal contents have equal names. */
export function identityOf({ unsaved, sha256, isThere }: FileNow): string {
  return unsaved ?? sha256 ?? (isThere ? "unreadable" : "none");
}

/** True if the user kept all changes of a file, whatever is in it now. */
export function isKept(images: readonly BeforeImage[]): boolean {
  return images.every(({ settled }) => settled === true);
}

/** Changes of a file that are neither kept nor undone; undefined if there are none. */
export function pendingIn(images: readonly BeforeImage[], now: FileNow): Pending | undefined {
  // What was undone waits again where the file came back as it was, such as by the editor's own undo.
  const open = images.filter(({ settled = false }) => settled === false || settled === identityOf(now));
  const [first] = open;
  const changed = first && byFile(open).get(first.path);
  if (first === undefined || changed === undefined) return undefined;
  // Hunks that were kept are in a baseline of its own.
  const base = first.baseline === undefined ? first : { ...first, content: first.baseline, isNew: false };
  return { images: open, changed: { ...changed, first: base } };
}

export interface Pending {
  images: BeforeImage[];
  /** First and last change; the contents before the first one are the baseline. */
  changed: Changed;
}

/** A changed file in the panel's list. `hunks` is missing where a side is no text; `undo` says how it is undone, or why not. */
export function itemOf(
  path: string,
  { first }: Changed,
  { isThere }: FileNow,
  hunks: readonly Hunk[] | undefined,
  undo: RewindFile | RewindLost,
): ChangedItem {
  return {
    path,
    kind: first.isNew ? "created" : isThere ? "edited" : "deleted",
    ...(hunks !== undefined && countsOf(hunks)),
    ...("what" in undo
      ? { lost: undo.why.replace(/, so it is not (restored|deleted)$/, "") }
      : undo.others !== undefined && { others: undo.others }),
  };
}

/** The sum over all files, and the first of them. */
export function summaryOf(items: readonly ChangedItem[]): ChangedFiles | undefined {
  if (items.length === 0) return undefined;
  const sum = (of: "added" | "removed"): number => items.reduce((all, item) => all + (item[of] ?? 0), 0);
  return { files: items.length, added: sum("added"), removed: sum("removed"), items: items.slice(0, MOST_LISTED) };
}

/** Files that the panel lists; a command may change thousands. */
const MOST_LISTED = 200;
