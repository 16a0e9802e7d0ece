// The files that the agent changed in the session that is shown and that the user has neither kept nor undone, followed
// while calls, the user and other programs change them.

import * as vscode from "vscode";
import type { BeforeImage, BeforeImages } from "../rewind/before-images.ts";
import { heldIn, standingOf, textOf, uriOf } from "../rewind/files.ts";
import { type FileNow, fileOf } from "../rewind/plan.ts";
import type { Chat } from "../session/chat.ts";
import { errorText } from "../shared/text.ts";
import type { ChangedFiles, ChangedItem, RewindFile, RewindLost } from "../shared/view.ts";
import { type Hunk, hunksOf } from "./hunks.ts";
import { isKept, itemOf, type Pending, pendingIn, summaryOf } from "./review.ts";

/** A changed file. */
export interface Entry {
  path: string;
  uri: vscode.Uri;
  pending: Pending;
  now: FileNow;
  /** How it is undone, or why it cannot be. */
  undo: RewindFile | RewindLost;
  /** Bytes of the baseline; missing where the agent made the file, or where they are no longer kept. */
  content?: Uint8Array;
  /** Text of the baseline; missing where it or the file is no text. */
  base?: string;
  item: ChangedItem;
}

/** Files that are read at the same time. */
const AT_ONCE = 32;
/** Wait for further changes: a program writes many files together. */
const DELAY_MS = 100;

export class Tracker implements vscode.Disposable {
  readonly #chat: Chat;
  readonly #images: BeforeImages | undefined;
  readonly #warn: (text: string) => void;
  readonly #changed = new vscode.EventEmitter<void>();
  readonly onChange = this.#changed.event;
  #entries: ReadonlyMap<string, Entry> = new Map();
  /** Changes of the session by file, as they were read last. */
  #byPath: ReadonlyMap<string, BeforeImage[]> = new Map();
  /** Their paths in the folder, by those on disk. */
  #paths: ReadonlyMap<string, string> = new Map();
  /** The session that the entries are of. */
  #sessionId: string | undefined;
  /** Texts as the agent left them, by file, with the hash of their bytes. */
  readonly #left = new Map<string, { after: string; text: string }>();
  #stale: "nothing" | Set<string> | "all" = "nothing";
  #running: Promise<void> | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #shown = "";
  readonly #ends: vscode.Disposable[] = [];

  constructor(chat: Chat, images: BeforeImages | undefined, warn: (text: string) => void) {
    this.#chat = chat;
    this.#images = images;
    this.#warn = warn;
    if (images === undefined) return;
    images.onChange = () => this.#soon("all");
    const watcher = vscode.workspace.createFileSystemWatcher("**/*");
    const follow = ({ fsPath }: vscode.Uri): void => this.#follow(fsPath);
    this.#ends.push(
      this.#changed,
      watcher,
      watcher.onDidChange(follow),
      watcher.onDidCreate(follow),
      watcher.onDidDelete(follow),
      vscode.workspace.onDidChangeTextDocument(({ document }) => follow(document.uri)),
      vscode.workspace.onDidSaveTextDocument(({ uri }) => follow(uri)),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => follow(uri)),
      chat.onChange(({ session }) => {
        if (session || chat.session?.id !== this.#sessionId) this.#soon("all");
      }),
    );
  }

  dispose(): void {
    clearTimeout(this.#timer);
    for (const end of this.#ends) end.dispose();
  }

  /** All changed files, by path. */
  get entries(): readonly Entry[] {
    return this.#chat.session?.id === this.#sessionId ? [...this.#entries.values()] : [];
  }

  get summary(): ChangedFiles | undefined {
    return summaryOf(this.entries.map(({ item }) => item));
  }

  /** The entry of a file, by where it is. */
  find({ fsPath }: { fsPath: string }): Entry | undefined {
    return this.entries.find(({ uri }) => uri.fsPath === fsPath);
  }

  /** The entries as they are at this moment. */
  async fresh(): Promise<readonly Entry[]> {
    clearTimeout(this.#timer);
    this.#mark("all");
    await this.#refresh();
    await this.#running;
    return this.entries;
  }

  /** Hunks of a file as the agent left it; undefined where that is not known. */
  agentsHunks({ path, base, pending }: Entry): Hunk[] | undefined {
    const left = this.#left.get(path);
    const { last, isUnbroken } = pending.changed;
    return left === undefined || base === undefined || !isUnbroken || left.after !== last.after ? undefined : hunksOf(base, left.text);
  }

  #follow(fsPath: string): void {
    const path = this.#paths.get(fsPath);
    if (path !== undefined) this.#soon(new Set([path]));
  }

  #mark(what: Set<string> | "all"): void {
    if (what === "all" || this.#stale === "all") this.#stale = "all";
    else this.#stale = new Set([...(this.#stale === "nothing" ? [] : this.#stale), ...what]);
  }

  #soon(what: Set<string> | "all"): void {
    this.#mark(what);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#refresh(), DELAY_MS);
  }

  async #refresh(): Promise<void> {
    // What is marked while a reading ends is read by the next one.
    while (this.#stale !== "nothing") {
      this.#running ??= this.#read()
        .catch((error: unknown) => this.#warn(`the changed files cannot be listed: ${errorText(error)}`))
        .finally(() => (this.#running = undefined));
      await this.#running;
    }
  }

  async #read(): Promise<void> {
    while (this.#stale !== "nothing") {
      const stale = this.#stale;
      this.#stale = "nothing";
      const { session, folder } = this.#chat;
      const isOther = session?.id !== this.#sessionId;
      if (stale === "all" || isOther) {
        const images = session === undefined ? [] : await this.#images?.ofSession(session.id);
        this.#byPath = Map.groupBy(images ?? [], ({ path }) => path);
        this.#paths = new Map(folder && [...this.#byPath.keys()].map((path) => [uriOf(path, folder.uri).fsPath, path]));
      }
      const paths = stale === "all" || isOther ? [...this.#byPath.keys()] : [...stale];
      const entries = new Map(stale === "all" || isOther ? [] : this.#entries);
      for (let at = 0; at < paths.length && folder !== undefined; at += AT_ONCE) {
        const some = paths.slice(at, at + AT_ONCE);
        const found = await Promise.all(some.map((path) => this.#entry(path, folder.uri)));
        for (const [at, path] of some.entries()) {
          const entry = found[at];
          if (entry === undefined) entries.delete(path);
          else entries.set(path, entry);
        }
      }
      // Another one may be shown meanwhile.
      if (session?.id !== this.#chat.session?.id) {
        this.#mark("all");
        continue;
      }
      this.#entries = new Map([...entries].sort(([one], [other]) => (one < other ? -1 : 1)));
      this.#sessionId = session?.id;
    }
    this.#tell();
  }

  /** Says that something is other than before. */
  #tell(): void {
    const shown = JSON.stringify(this.entries.map(({ item, now, pending }) => [item, now, pending.changed.first]));
    if (shown === this.#shown) return;
    this.#shown = shown;
    this.#changed.fire();
  }

  async #entry(path: string, folder: vscode.Uri): Promise<Entry | undefined> {
    const images = this.#byPath.get(path) ?? [];
    if (isKept(images)) return undefined;
    const now = await standingOf(path, folder);
    const pending = pendingIn(images, now);
    if (pending === undefined) return undefined;
    // What came back stays, whatever is written into the file from now on.
    const back = pending.images.filter(({ settled }) => typeof settled === "string");
    if (back.length > 0) await this.#images?.settle(back, false);
    const { first, last } = pending.changed;
    const content = await this.#images?.bytesOf(first).catch(() => undefined);
    const undo = fileOf(path, pending.changed, now, content !== undefined);
    if (undo === undefined) return undefined;
    const held = await heldIn(path, folder);
    const base = first.isNew ? "" : content && (await plainText(path, content, folder));
    const text = held.unsaved ?? (held.content === undefined ? "" : await plainText(path, held.content, folder));
    const isText = base !== undefined && text !== undefined;
    if (isText && "path" in undo && undo.others === undefined && last.after !== undefined)
      this.#left.set(path, { after: last.after, text });
    const hunks = isText ? hunksOf(base, text) : undefined;
    return {
      path,
      uri: uriOf(path, folder),
      pending,
      now,
      undo,
      ...(content !== undefined && { content }),
      ...(isText && { base }),
      item: itemOf(path, pending.changed, now, hunks, undo),
    };
  }
}

/** Text of these bytes; undefined where they are none. */
async function plainText(path: string, content: Uint8Array, folder: vscode.Uri): Promise<string | undefined> {
  const text = await textOf(path, content, folder).catch(() => undefined);
  return text?.includes("\0") ? undefined : text;
}
