// Restores contents of files, and takes the last restore back: for rewinds and for changes that the user undoes.

import type * as vscode from "vscode";
import { DISMISS, type NoticeRow } from "../shared/view.ts";
import { type Outcome, put, type Wanted } from "./files.ts";

export type Say = (notice: Omit<NoticeRow, "kind" | "id" | "rev">) => void;

/** Contents of files before a restore. */
export interface Restore {
  folder: vscode.Uri;
  files: Wanted[];
}

export class Restorer {
  /** The last one. */
  #undo: Restore | undefined;

  /** Has these contents in the files, unless one changed since the user was asked about it. */
  restore(files: readonly Wanted[], folder: vscode.Uri): Promise<Outcome> {
    return put(files, folder);
  }

  /** Tells what was restored, with a way to take it back. Answers what that would have in the files again. */
  tell(text: string, chosen: readonly Wanted[], { before, failed }: Outcome, folder: vscode.Uri, say: Say): Restore | undefined {
    const restore = before.length > 0 ? { folder, files: before } : undefined;
    this.#undo = restore ?? this.#undo;
    const notDone = new Set(failed.map(({ what }) => what));
    const lines = chosen
      .filter(({ path }) => !notDone.has(path))
      .map(({ path, content }) => `${path}: ${content === undefined ? "deleted" : "restored"}`)
      .concat(failed.map(({ what, why }) => `${what}: not restored because ${why}`));
    say({
      level: failed.length > 0 ? "warning" : "info",
      text,
      ...(lines.length > 0 && { detail: lines.join("\n") }),
      actions: [...(before.length > 0 ? [PUT_BACK] : []), DISMISS],
    });
    return restore;
  }

  /** Takes the last restore back, or nothing where another one is meant. */
  async putBack(say: Say, meant = this.#undo): Promise<void> {
    const undo = this.#undo;
    if (undo === undefined || undo !== meant) return;
    this.#undo = undefined;
    const { failed } = await put(undo.files, undo.folder);
    if (failed.length === 0) return say({ level: "info", text: "The restore was undone.", actions: [DISMISS] });
    // What is in the way may be taken out of it.
    const left = new Set(failed.map(({ what }) => what));
    this.#undo = { ...undo, files: undo.files.filter(({ path }) => left.has(path)) };
    const rest = undo.files.length > failed.length ? " The other files were changed back." : "";
    say({
      level: "warning",
      text: `The restore of ${listed([...left])} could not be undone.${rest}`,
      detail: failed.map(({ what, why }) => `${what}: ${why}`).join("\n"),
      actions: [{ ...PUT_BACK, label: "Try Again" }, DISMISS],
    });
  }
}

const PUT_BACK = { label: "Undo Restore", action: { type: "putBack" } } as const;

/** A few names, or how many there are. */
export function listed(paths: readonly string[]): string {
  if (paths.length > 3) return `${paths.length} files`;
  return paths.length < 2 ? paths.join("") : `${paths.slice(0, -1).join(", ")} and ${paths.at(-1)}`;
}

/** How many files were restored, in sentences; empty where none was meant. */
export function restored(done: number, failed: number): string[] {
  const files = (count: number): string => (count === 1 ? "1 file" : `${count} files`);
  return [done > 0 ? `Restored ${files(done)}.` : "", failed > 0 ? `Could not restore ${files(failed)}.` : ""].filter(
    (said) => said !== "",
  );
}
