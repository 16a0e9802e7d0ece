// Asks what to do about changed files before a part of the conversation is removed (edit, retry, rewind), then restores the
// chosen files and changes the conversation.

import { argumentsOf, type Session } from "@threadhold/client";
import type * as vscode from "vscode";
import { isBusy } from "../panel/frame.ts";
import type { Chat } from "../session/chat.ts";
import { errorText } from "../shared/text.ts";
import { DISMISS, type NoticeRow, type RewindFile, type RewindGoal, type RewindLost, type RewindRow } from "../shared/view.ts";
import type { Diffs } from "../tools/edit.ts";
import { isTraced } from "../tools/toolbox.ts";
import type { BeforeImages } from "./before-images.ts";
import { heldIn, put, standingOf, textOf, uriOf, type Wanted } from "./files.ts";
import { byFile, callsFrom, fileOf, isSame } from "./plan.ts";
import { unknownOf } from "./untracked.ts";

/** A change of the conversation that waits for a decision about files. */
export interface RewindRequest {
  goal: RewindGoal;
  /** Everything from this message on is taken away, or asked or answered again. */
  messageId: string;
  /** Does it. */
  go: () => Promise<unknown>;
  /** Called if the user cancels, to give back the edited text. */
  leave?: () => void;
}

interface PendingRewind extends RewindRequest {
  session: Session;
  row: RewindRow;
  /** Each file that can be restored: what is to be in it, and how it stood when the user was asked. */
  wanted: Map<string, Wanted>;
}

type Say = (notice: Omit<NoticeRow, "kind" | "id" | "rev">) => void;

export class Rewind {
  readonly #chat: Chat;
  readonly #images: BeforeImages | undefined;
  readonly #diffs: Diffs;
  #asked: PendingRewind | undefined;
  #isGoing = false;
  /** Contents of the files before the last restore. */
  #undo: { folder: vscode.Uri; files: Wanted[] } | undefined;
  #count = 0;

  constructor(chat: Chat, images: BeforeImages | undefined, diffs: Diffs) {
    this.#chat = chat;
    this.#images = images;
    this.#diffs = diffs;
  }

  /** The question that waits in the session that is shown. */
  get row(): RewindRow | undefined {
    return this.#asked?.session === this.#chat.session ? this.#asked?.row : undefined;
  }

  /** Asks what becomes of the files; goes on at once where none changed. */
  async ask(session: Session, step: RewindRequest, say: Say): Promise<void> {
    if (this.#asked !== undefined) await this.leave();
    const { folder } = this.#chat;
    if (folder === undefined) return;
    // Who only reads a session is told so by the sidecar.
    if (session.view.snapshot.heldBy !== undefined) return void (await step.go());
    const { files, lost, wanted } = await this.#changes(session, step.messageId, folder.uri);
    if (files.length === 0 && lost.length === 0) {
      await step.go();
      if (step.goal === "rewind") say({ level: "info", text: done(0, 0, step.goal), actions: [DISMISS] });
      return;
    }
    if (isBusy(session.view.snapshot)) {
      step.leave?.();
      throw new Error(AT_WORK);
    }
    this.#show({ ...step, session, row: this.#row(step, files, lost), wanted });
  }

  /** Restores these files, then does with the conversation what was asked for. */
  async go(restore: readonly string[], say: Say): Promise<void> {
    if (this.#isGoing) return;
    this.#isGoing = true;
    try {
      await this.#go(restore, say);
    } finally {
      this.#isGoing = false;
    }
  }

  async #go(restore: readonly string[], say: Say): Promise<void> {
    const asked = this.#asked;
    const { folder } = this.#chat;
    if (asked === undefined || folder === undefined) return;
    if (isBusy(asked.session.view.snapshot)) throw new Error(AT_WORK);
    const now = await this.#changes(asked.session, asked.messageId, folder.uri);
    const others = now.files.filter(({ path }) => !asked.wanted.has(path)).map(({ path }) => path);
    const changed = [...new Set([...restore.filter((path) => !isStill(asked.wanted.get(path), now.wanted.get(path))), ...others])];
    if (changed.length > 0) {
      this.#show({ ...asked, row: this.#row(asked, now.files, now.lost), wanted: now.wanted });
      throw new Error(`${listed(changed)} changed in the meantime, so nothing was done. Check again what would be lost.`);
    }
    this.#forget();
    const chosen = restore.flatMap((path) => asked.wanted.get(path) ?? []);
    const { before, failed } = await put(chosen, folder.uri);
    try {
      await asked.go();
    } catch (error) {
      // Both or neither.
      const back = await put(before, folder.uri);
      if (back.failed.length === 0) throw error;
      throw new Error(
        `${errorText(error)} These files were already restored: ${back.failed.map(({ what, why }) => `${what} (${why})`).join(", ")}`,
      );
    }
    if (before.length > 0) this.#undo = { folder: folder.uri, files: before };
    if (chosen.length === 0 && asked.goal !== "rewind") return;
    const notDone = new Set(failed.map(({ what }) => what));
    const lines = chosen
      .filter(({ path }) => !notDone.has(path))
      .map(({ path, content }) => `${path}: ${content === undefined ? "deleted" : "restored"}`)
      .concat(failed.map(({ what, why }) => `${what}: not restored because ${why}`));
    say({
      level: failed.length > 0 ? "warning" : "info",
      text: done(chosen.length - failed.length, failed.length, asked.goal),
      ...(lines.length > 0 && { detail: lines.join("\n") }),
      actions: [...(before.length > 0 ? [PUT_BACK] : []), DISMISS],
    });
  }

  /** Leaves conversation and files as they are. */
  async leave(): Promise<void> {
    if (this.#isGoing) return;
    const leave = this.#asked?.leave;
    this.#forget();
    leave?.();
    this.#chat.changed();
  }

  /** Takes back what was restored. */
  async putBack(say: Say): Promise<void> {
    const undo = this.#undo;
    if (undo === undefined) return;
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

  /** Shows what restoring a file would change. */
  async showDiff(path: string): Promise<void> {
    const { folder } = this.#chat;
    const wanted = this.#asked?.wanted.get(path);
    if (wanted === undefined || folder === undefined) return;
    const held = await heldIn(path, folder.uri);
    const before = held.unsaved ?? (await textOf(path, held.content, folder.uri));
    const after = await textOf(path, wanted.content, folder.uri);
    const title = wanted.content === undefined ? `${path} (Will Be Deleted)` : `${path} (Current ↔ Restored)`;
    await this.#diffs.show(
      `rewind ${path}`,
      { uri: uriOf(path, folder.uri), path, before, after, isNew: held.content === undefined },
      title,
    );
  }

  #row({ messageId, goal }: RewindRequest, files: RewindFile[], lost: RewindLost[]): RewindRow {
    this.#count += 1;
    return { kind: "rewind", id: `rewind ${this.#count}`, rev: 0, messageId, goal, files, lost };
  }

  #show(asked: PendingRewind): void {
    this.#asked = asked;
    this.#chat.changed();
  }

  #forget(): void {
    for (const { path } of this.#asked?.row.files ?? []) void this.#diffs.close(`rewind ${path}`);
    this.#asked = undefined;
  }

  async #changes(
    session: Session,
    messageId: string,
    folder: vscode.Uri,
  ): Promise<{ files: RewindFile[]; lost: RewindLost[]; wanted: Map<string, Wanted> }> {
    const calls = callsFrom(session.view.snapshot, messageId, argumentsOf);
    const files: RewindFile[] = [];
    const lost: RewindLost[] = [];
    const wanted = new Map<string, Wanted>();
    // What cannot be read is named, and does not stand in the way of asking again.
    const unread =
      (what: string) =>
      (error: unknown): undefined =>
        void lost.push({ what, why: `cannot be read: ${errorText(error)}` });
    const images = (await this.#images?.of(calls).catch(unread("Earlier contents of files"))) ?? [];
    for (const [path, changed] of byFile(images)) {
      const content = await this.#images?.bytesOf(changed.first).catch(() => undefined);
      const now = await standingOf(path, folder).catch(unread(path));
      const file = now === undefined ? undefined : fileOf(path, changed, now, content !== undefined);
      if (now === undefined || file === undefined) continue;
      if ("what" in file) lost.push(file);
      else {
        files.push(file);
        const { mode } = changed.first;
        wanted.set(path, { path, now, ...(content !== undefined && { content }), ...(mode !== undefined && { mode }) });
      }
    }
    files.sort((one, other) => (one.path < other.path ? -1 : 1));
    const known = new Set(images.map(({ path }) => path));
    for (const { name, effects, succeeded } of calls) {
      if (!isTraced(name) || !succeeded) continue;
      for (const path of effects) {
        if (known.has(path)) continue;
        known.add(path);
        lost.push({ what: path, why: "its earlier contents were not kept" });
      }
    }
    const { messages } = session.view.snapshot;
    // A message that was imported may have no time; what was said after it has.
    const { createdAt } =
      messages.slice(messages.findIndex(({ id }) => id === messageId)).find((message) => message.createdAt !== undefined) ?? {};
    const coverOf = (await this.#images?.covers(calls).catch(() => undefined)) ?? (() => undefined);
    const { read } = this.#chat.effects;
    if (createdAt !== undefined) lost.push(...(await unknownOf(calls, Date.parse(createdAt), folder, known, read, coverOf)));
    return { files, lost, wanted };
  }
}

const AT_WORK = "The agent is still running and may change files. Stop it (press Escape in the input box), then try again.";
const PUT_BACK = { label: "Undo Restore", action: { type: "putBack" } } as const;

/** True if what would be lost is what the user was told of. */
function isStill(told: Wanted | undefined, found: Wanted | undefined): boolean {
  return told !== undefined && found !== undefined && isSame(told.now, found.now);
}

/** A few names, or how many there are. */
function listed(paths: readonly string[]): string {
  if (paths.length > 3) return `${paths.length} files`;
  return paths.length < 2 ? paths.join("") : `${paths.slice(0, -1).join(", ")} and ${paths.at(-1)}`;
}

function done(restored: number, failed: number, goal: RewindGoal): string {
  const files = (count: number): string => (count === 1 ? "1 file" : `${count} files`);
  const sentences = [
    goal === "rewind" && "Rewound the conversation.",
    restored > 0 && `Restored ${files(restored)}.`,
    failed > 0 && `Could not restore ${files(failed)}.`,
    "The previous conversation is kept as a separate session.",
  ];
  return sentences.filter((sentence) => sentence !== false).join(" ");
}
