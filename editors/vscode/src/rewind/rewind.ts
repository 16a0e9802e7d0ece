// Before a part of the conversation is taken away (an edit, a retry, a rewind), the question what becomes of the files
// that changed in it; then the files as the user said, and then the conversation. What can be restored is plan.ts's.

import * as vscode from "vscode";
import { argumentsOf, type Session } from "@threadhold/client";
import type { Chat } from "../chat.ts";
import { isBusy } from "../frame.ts";
import type { Diffs } from "../tools/edit.ts";
import { isTraced } from "../tools/toolbox.ts";
import type { NoticeRow, RewindFile, RewindGoal, RewindLost, RewindRow } from "../view.ts";
import type { BeforeImages } from "./before-images.ts";
import { contentOf, standingOf, timeOf, uriOf, type Wanted, write, writtenSince } from "./files.ts";
import { byFile, callsFrom, commandOf, type CutCall, fileOf, namedBy, unknownChanges } from "./plan.ts";

/** Names that a person reads of files that cannot be restored; of the others, how many there are. */
const MOST_NAMED = 20;

/** What is done with the conversation, once the files are decided about. */
export interface Step {
  goal: RewindGoal;
  /** Everything from this message on is taken away, or asked or answered again. */
  messageId: string;
  /** Does it. */
  go: () => Promise<unknown>;
  /** What is said where the user leaves: the edited words are theirs. */
  leave?: () => void;
}

interface Asked extends Step {
  session: Session;
  row: RewindRow;
  /** What each file that can be restored said. */
  earlier: Map<string, string | undefined>;
}

type Say = (notice: Omit<NoticeRow, "kind" | "id" | "rev">) => void;

export class Rewind {
  readonly #chat: Chat;
  readonly #images: BeforeImages | undefined;
  readonly #diffs: Diffs;
  #asked: Asked | undefined;
  /** What the files said before they were restored, and whose they are. */
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
  async ask(session: Session, step: Step, say: Say): Promise<void> {
    if (this.#asked !== undefined) await this.leave();
    const { folder } = this.#chat;
    if (folder === undefined) return;
    // Who only reads a session is told so by the sidecar.
    if (session.view.snapshot.heldBy !== undefined) return void (await step.go());
    const { files, lost, earlier } = await this.#changes(session, step.messageId, folder.uri);
    if (files.length === 0 && lost.length === 0) {
      await step.go();
      if (step.goal === "rewind") say({ level: "info", text: done(0, step.goal), actions: [DISMISS] });
      return;
    }
    if (isBusy(session.view.snapshot)) {
      step.leave?.();
      throw new Error("The agent is still at work, and changes files. Stop it with Escape in the prompt, then do this again.");
    }
    this.#show({ ...step, session, row: this.#row(step, files, lost), earlier });
  }

  /** Restores these files, then does with the conversation what was asked for. */
  async go(restore: readonly string[], say: Say): Promise<void> {
    const asked = this.#asked;
    const { folder } = this.#chat;
    if (asked === undefined || folder === undefined) return;
    const wanted = asked.row.files.filter(({ path }) => restore.includes(path));
    const now = await this.#changes(asked.session, asked.messageId, folder.uri);
    if (wanted.some((file) => now.files.every((other) => JSON.stringify(other) !== JSON.stringify(file)))) {
      this.#show({ ...asked, row: this.#row(asked, now.files, now.lost), earlier: now.earlier });
      throw new Error("Files changed while you decided, and nothing was done. Look again at what would be lost.");
    }
    this.#forget();
    const before: Wanted[] = [];
    for (const { path } of wanted) before.push({ path, content: await contentOf(path, folder.uri) });
    if (wanted.length > 0) await write(wanted.map(({ path }) => ({ path, content: bytesOf(asked.earlier.get(path)) })), folder.uri);
    try {
      await asked.go();
    } catch (error) {
      // Both or neither.
      if (wanted.length > 0) await write(before, folder.uri);
      throw error;
    }
    this.#undo = { folder: folder.uri, files: before };
    if (wanted.length === 0 && asked.goal !== "rewind") return;
    const detail = wanted.map(({ path, how }) => `${path}: ${how === "delete" ? "deleted" : "restored"}`).join("\n");
    const putBack = { label: "Undo restoring", action: { type: "putBack" } as const };
    say({ level: "info", text: done(wanted.length, asked.goal), ...(detail !== "" && { detail }), actions: [...(wanted.length > 0 ? [putBack] : []), DISMISS] });
  }

  /** Leaves conversation and files as they are. */
  async leave(): Promise<void> {
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
    await write(undo.files, undo.folder);
    say({ level: "info", text: "The files are as they were before they were restored.", actions: [DISMISS] });
  }

  /** Shows what restoring a file would change. */
  async showDiff(path: string): Promise<void> {
    const { folder } = this.#chat;
    if (this.#asked === undefined || folder === undefined) return;
    const after = this.#asked.earlier.get(path) ?? "";
    const content = await contentOf(path, folder.uri);
    const before = Buffer.from(content ?? []).toString("utf8");
    const isNew = content === undefined;
    await this.#diffs.show(`rewind ${path}`, { uri: uriOf(path, folder.uri), path, before, after, isNew }, `${path} (now and restored)`);
  }

  #row({ messageId, goal }: Step, files: RewindFile[], lost: RewindLost[]): RewindRow {
    return { kind: "rewind", id: `rewind ${(this.#count += 1)}`, rev: 0, messageId, goal, files, lost };
  }

  #show(asked: Asked): void {
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
  ): Promise<{ files: RewindFile[]; lost: RewindLost[]; earlier: Map<string, string | undefined> }> {
    const calls = callsFrom(session.view.snapshot, messageId, argumentsOf);
    const files: RewindFile[] = [];
    const lost: RewindLost[] = [];
    const earlier = new Map<string, string | undefined>();
    // What cannot be read is named, and does not stand in the way of asking again.
    const unread = (what: string) => (error: unknown): undefined => void lost.push({ what, why: `cannot be read: ${String(error)}` });
    const images = (await this.#images?.of(calls).catch(unread("What files said before"))) ?? [];
    for (const [path, changed] of byFile(images)) {
      const text = await this.#images?.textOf(changed.first).catch(() => undefined);
      const now = await standingOf(path, folder, text).catch(unread(path));
      const file = now === undefined ? undefined : fileOf(path, changed, now, text !== undefined);
      if (file === undefined) continue;
      if ("what" in file) lost.push(file);
      else {
        files.push(file);
        earlier.set(path, text);
      }
    }
    const known = new Set(images.map(({ path }) => path));
    for (const { name, effects, succeeded } of calls) {
      if (!isTraced(name) || !succeeded) continue;
      for (const path of effects) {
        if (known.has(path)) continue;
        known.add(path);
        lost.push({ what: path, why: "what it said before was not kept" });
      }
    }
    lost.push(...(await unknownOf(session, messageId, calls, folder, known)));
    return { files, lost, earlier };
  }
}

const DISMISS = { label: "Understood", action: { type: "dismissNotice" } } as const;

function bytesOf(text: string | undefined): Uint8Array | undefined {
  return text === undefined ? undefined : Buffer.from(text, "utf8");
}

function done(files: number, goal: RewindGoal): string {
  const restored = files === 0 ? "" : files === 1 ? "1 file is restored. " : `${files} files are restored. `;
  const back = goal === "rewind" ? "The conversation is back where you said. " : "";
  return `${back}${restored}As it stood before, the conversation is among the sessions of this folder.`;
}

/** What commands and tools of others changed, as far as it can be seen. */
async function unknownOf(
  session: Session,
  messageId: string,
  calls: readonly CutCall[],
  folder: vscode.Uri,
  known: ReadonlySet<string>,
): Promise<RewindLost[]> {
  const unknown = unknownChanges(calls, isTraced);
  const { createdAt } = session.view.snapshot.messages.find(({ id }) => id === messageId) ?? {};
  if (unknown.length === 0 || createdAt === undefined) return [];
  const since = Date.parse(createdAt);
  const lost = new Map<string, string>();
  for (const call of unknown) {
    for (const path of namedBy(call)) {
      if (known.has(path)) continue;
      const time = await timeOf(uriOf(path, folder).fsPath);
      const isGone = time === undefined && /\b(rm|mv|del|unlink)\b/.test(commandOf(call));
      if (call.effects.includes(path) || (time ?? 0) >= since) lost.set(path, `changed by ${call.name}, which keeps no earlier text`);
      else if (isGone) lost.set(path, "is gone since a command named it");
    }
  }
  for (const path of await writtenSince(since, folder)) {
    if (!known.has(path) && !lost.has(path)) lost.set(path, "changed on disk since, by a command or by somebody else");
  }
  const named = [...lost].map(([what, why]) => ({ what, why }));
  const more = named.length - MOST_NAMED;
  if (more > 0) named.splice(MOST_NAMED, more, { what: `${more} more files`, why: "changed on disk since" });
  // What ran says more than the files that are known of.
  if (named.length > 0) named.push(...unknown.slice(0, MOST_NAMED).map((call) => ({ what: commandOf(call), why: "what else it changed is not known" })));
  return named;
}
