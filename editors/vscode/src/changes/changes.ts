// Keeping and undoing the agent's changes, by file and by hunk. Words of somebody else are not undone without a question.

import { readFile } from "node:fs/promises";
import * as vscode from "vscode";
import { type BeforeImage, type BeforeImages, hashOf } from "../rewind/before-images.ts";
import type { Wanted } from "../rewind/files.ts";
import { type Restorer, restored, type Say } from "../rewind/restorer.ts";
import type { Chat } from "../session/chat.ts";
import { OTHERS } from "../shared/others.ts";
import { encoded, save, serialized } from "../tools/text-file.ts";
import { type Hunk, hunksOf, nearest, undoneText, withKept } from "./hunks.ts";
import { identityOf } from "./review.ts";
import type { Entry, Tracker } from "./tracker.ts";

/** A hunk of a file as the user saw it. */
export interface HunkAt {
  /** Path of its file on disk. */
  fsPath: string;
  /** `Hunk.id`. */
  id: string;
  /** Line of the current text. */
  line: number;
}

/** A hunk that was found again, with its file. */
interface FoundHunk {
  entry: Entry;
  base: string;
  document: vscode.TextDocument;
  hunk: Hunk;
}

export class Changes {
  readonly #chat: Chat;
  readonly #images: BeforeImages;
  readonly #tracker: Tracker;
  readonly #restorer: Restorer;

  constructor(chat: Chat, images: BeforeImages, tracker: Tracker, restorer: Restorer) {
    this.#chat = chat;
    this.#images = images;
    this.#tracker = tracker;
    this.#restorer = restorer;
  }

  /** Keeps the changes of these files, or of all: each file is its own baseline from now on. */
  async keep(paths: readonly string[] | undefined): Promise<void> {
    for (const entry of await this.#chosen(paths)) await this.#settle(entry);
    await this.#tracker.fresh();
  }

  /** Restores the baselines of these files, or of all. */
  async undo(paths: readonly string[] | undefined, say: Say): Promise<void> {
    const { folder } = this.#chat;
    const chosen = await this.#chosen(paths);
    const lost = chosen.flatMap(({ path, item }) => (item.lost === undefined ? [] : [{ what: path, why: item.lost }]));
    const entries = await this.#asked(chosen.filter(({ item }) => item.lost === undefined));
    if (folder === undefined || entries === undefined) return;
    const wanted = entries.map(({ path, now, content, pending }): Wanted => {
      const { mode } = pending.changed.first;
      return { path, now, ...(content !== undefined && { content }), ...(mode !== undefined && { mode }) };
    });
    const { before, failed } = await this.#restorer.restore(wanted, folder.uri);
    const outcome = { before, failed: [...failed, ...lost] };
    const notDone = new Set(outcome.failed.map(({ what }) => what));
    const done = entries.filter(({ path }) => !notDone.has(path));
    for (const { pending, now } of done) await this.#images.settle(pending.images, identityOf(now));
    this.#restorer.tell(restored(done.length, notDone.size).join(" "), wanted, outcome, folder.uri, say);
    await this.#tracker.fresh();
  }

  /** Notes that a rewind restored files, by the changes that it took back. */
  async rewound(images: readonly BeforeImage[], files: readonly Wanted[]): Promise<void> {
    for (const { path, now } of files) {
      const own = images.filter((image) => image.path === path);
      await this.#images.settle(own, identityOf(now));
    }
  }

  /** Takes a hunk into the baseline. */
  async keepHunk(at: HunkAt): Promise<void> {
    const { entry, base, document, hunk } = await this.#found(at);
    const now = document.getText();
    const rest = withKept(base, now, hunk);
    const [first] = entry.pending.images;
    if (first === undefined || entry.item.kind !== "edited" || hunksOf(rest, now).length === 0) await this.#settle(entry);
    else {
      const bytes = await encoded(rest, document.encoding);
      if (bytes === undefined) throw new Error(`${entry.path} cannot be kept in part: its encoding is ${document.encoding}; keep the file`);
      await this.#images.rebase(first, bytes);
    }
    await this.#tracker.fresh();
  }

  /** Has the baseline's text stand in place of a hunk, by an edit that the editor can undo. */
  async undoHunk(at: HunkAt, say: Say): Promise<void> {
    const { entry, hunk } = await this.#found(at);
    const { path, item } = entry;
    if (item.kind !== "edited") return this.undo([path], say);
    const isOurs = item.others === undefined || this.#tracker.agentsHunks(entry)?.some(({ id }) => id === hunk.id) === true;
    if (!isOurs && !(await confirmed("Undo this change?", `${path}: ${OTHERS[item.others ?? "unknown"]}`, "Undo"))) return;
    // A call may change the file at the same time, and the question may have taken long.
    await serialized(entry.uri.fsPath, async () => this.#undoFound(await this.#found(at)));
    await this.#tracker.fresh();
  }

  async #undoFound({ entry, base, document, hunk }: FoundHunk): Promise<void> {
    const { path, item, now, pending } = entry;
    const wasSaved = !document.isDirty;
    const edit = new vscode.WorkspaceEdit();
    const { nowFrom, nowCount } = hunk;
    edit.replace(document.uri, document.validateRange(new vscode.Range(nowFrom, 0, nowFrom + nowCount, 0)), undoneText(base, hunk));
    if (!(await vscode.workspace.applyEdit(edit))) throw new Error(`the editor did not change ${path}`);
    if (wasSaved && !(await save(document.uri))) throw new Error(`${path} was changed but could not be saved`);
    if (hunksOf(base, document.getText()).length === 0) await this.#images.settle(pending.images, identityOf(now));
    // Nobody else changed it: what is left is the agent's.
    else if (wasSaved && item.others === undefined) {
      await this.#images.changed(pending.changed.last, path, hashOf(await readFile(document.uri.fsPath)));
    }
  }

  async #chosen(paths: readonly string[] | undefined): Promise<readonly Entry[]> {
    const wanted = paths && new Set(paths);
    const entries = await this.#tracker.fresh();
    return wanted === undefined ? entries : entries.filter(({ path }) => wanted.has(path));
  }

  /** Those that the user wants undone where somebody else's changes would be lost; undefined where nothing is to be done. */
  async #asked(chosen: readonly Entry[]): Promise<readonly Entry[] | undefined> {
    const others = chosen.filter(({ item }) => item.others !== undefined);
    if (others.length === 0) return chosen;
    const lines = others.slice(0, MOST_NAMED).map(({ path, item }) => `${path}: ${OTHERS[item.others ?? "unknown"]}`);
    if (others.length > MOST_NAMED) lines.push(`${others.length - MOST_NAMED} more files`);
    const detail = `${lines.join("\n")}\n\nTo undo only some changes of a file, use Undo above each of them in the editor.`;
    const clean = chosen.filter(({ item }) => item.others === undefined);
    const question = chosen.length === 1 ? `Undo the changes in ${chosen[0]?.path}?` : `Undo the changes in ${chosen.length} files?`;
    const skip = `Undo Only the Other ${clean.length === 1 ? "File" : `${clean.length} Files`}`;
    const all = chosen.length === 1 ? "Undo" : "Undo All";
    // What Enter chooses first loses nothing.
    const answer = await vscode.window.showWarningMessage(question, { modal: true, detail }, ...(clean.length > 0 ? [skip] : []), all);
    return answer === all ? chosen : answer === skip ? clean : undefined;
  }

  async #settle({ pending }: Entry): Promise<void> {
    // What a call is about to change was not seen yet.
    const seen = pending.images.filter(({ toolCallId }) => !this.#chat.running.has(toolCallId));
    await this.#images.settle(seen, true);
  }

  async #found({ fsPath, id, line }: HunkAt): Promise<FoundHunk> {
    await this.#tracker.fresh();
    const entry = this.#tracker.find({ fsPath });
    const document = entry?.base === undefined || !entry.now.isThere ? undefined : await vscode.workspace.openTextDocument(entry.uri);
    const hunk = document && nearest(hunksOf(entry?.base ?? "", document.getText()), id, line);
    if (entry?.base === undefined || document === undefined || hunk === undefined)
      throw new Error("this change is no longer there, so nothing was done");
    return { entry, base: entry.base, document, hunk };
  }
}

/** Files that a question names. */
const MOST_NAMED = 10;

async function confirmed(question: string, detail: string, action: string): Promise<boolean> {
  return (await vscode.window.showWarningMessage(question, { modal: true, detail }, action)) === action;
}
