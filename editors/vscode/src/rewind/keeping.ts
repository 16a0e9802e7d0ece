// Keeps what the agent's calls change in files: an edit tool says so before it writes, a command or another extension's tool
// is told by snapshots of the folder before and after it. Where something cannot be kept the call runs all the same, and a
// rewind says what is missing.

import { join, normalize } from "node:path";
import type { Client, WorktreeChange } from "@threadhold/client";
import * as vscode from "vscode";
import { errorText } from "../shared/text.ts";
import type { Before, BeforeImages, CallName, FileChange } from "./before-images.ts";

export class Keeping {
  readonly #images: BeforeImages;
  readonly #client: () => Promise<Client>;
  readonly #snapshots: () => boolean;
  readonly #isAnythingLeft: () => boolean;
  readonly #warn: (text: string) => void;

  /** `snapshots` is asked with each call, for it is a setting; `isAnythingLeft`: whether a process of an earlier command runs. */
  constructor(
    images: BeforeImages,
    client: () => Promise<Client>,
    snapshots: () => boolean,
    isAnythingLeft: () => boolean,
    warn: (text: string) => void,
  ) {
    this.#images = images;
    this.#client = client;
    this.#snapshots = snapshots;
    this.#isAnythingLeft = isAnythingLeft;
    this.#warn = warn;
  }

  /** Keeps a file before a call changes it. What it answers takes how the file came out of it. */
  async keep(call: CallName, before: Before): Promise<(sha256: string) => Promise<void>> {
    const guarded = async (kept: Promise<void>): Promise<void> => {
      await kept.catch((error: unknown) => this.#warn(`${before.path} cannot be kept for a rewind: ${String(error)}`));
    };
    await guarded(this.#images.keep(call, before));
    return (sha256) => guarded(this.#images.changed(call, before.path, sha256));
  }

  /** Runs a call that may change any file of the folder, and keeps what it changed. A call that is stopped is not waited for. */
  async around<T>(call: CallName, folder: string, signal: AbortSignal, run: () => Promise<T>): Promise<T> {
    if (!this.#snapshots()) return run();
    const at = Date.now();
    const from = await Promise.race([this.#snapshot(folder), stopped(signal, 0)]);
    if ("why" in from) {
      await this.#note(call, from.why);
      return run();
    }
    // What the user or an edit tool writes meanwhile may not be the command's.
    const saved = new Set<string>();
    const listening = vscode.workspace.onDidSaveTextDocument(({ uri }) => saved.add(uri.fsPath));
    try {
      return await run();
    } finally {
      listening.dispose();
      const kept = this.#keepChanges({ call, at, folder, from: from.snapshotId, saved });
      await this.#note(call, await Promise.race([kept, stopped(signal, STOPPED_MS).then(({ why }) => why)]));
    }
  }

  /** Notes that all changes of a call are known, or why they are not. */
  async #note(call: CallName, covered: true | string): Promise<void> {
    await this.#images
      .cover(call, covered)
      .catch((error: unknown) => this.#warn(`it cannot be noted which changes of a call are known: ${errorText(error)}`));
  }

  /** The name of a snapshot, or why there is none. */
  async #snapshot(folder: string): Promise<{ snapshotId: string } | { why: string }> {
    try {
      const client = await this.#client();
      const { snapshotId, unavailable } = await client.request("worktree/snapshot", { workspaceFolder: folder });
      return snapshotId === undefined ? { why: unavailable ?? "no reason was given" } : { snapshotId };
    } catch (error) {
      return { why: errorText(error) };
    }
  }

  /** Keeps what changed since a snapshot. Returns true if everything is known, else why not. */
  async #keepChanges({ call, at, folder, from, saved }: Over): Promise<true | string> {
    try {
      const to = await this.#snapshot(folder);
      if ("why" in to) return to.why;
      const client = await this.#client();
      for (let after: string | undefined, isFirst = true; isFirst || after !== undefined; isFirst = false) {
        const asked = { workspaceFolder: folder, from, to: to.snapshotId, ...(after !== undefined && { after }) };
        const { changes, next } = await client.request("worktree/changes", asked);
        await this.#images.keepAll(
          call,
          at,
          changes.map((change) => beforeOf(change, saved.has(join(folder, change.path)))),
        );
        after = next;
      }
      return this.#isAnythingLeft() ? "a process that a command started was still running" : true;
    } catch (error) {
      this.#warn(`the changes of a call cannot be kept for a rewind: ${errorText(error)}`);
      return errorText(error);
    }
  }
}

/** A call that is over, with what was there when it began. */
interface Over {
  call: CallName;
  /** When it began, in milliseconds. */
  at: number;
  folder: string;
  /** Snapshot at its beginning. */
  from: string;
  /** Files that the editor saved meanwhile. */
  saved: ReadonlySet<string>;
}

/** How long the end of a stopped call waits for what it changed. */
const STOPPED_MS = 5_000;

/** Comes so long after a call is stopped. */
function stopped(signal: AbortSignal, ms: number): Promise<{ why: string }> {
  return new Promise((resolve) => {
    const stop = (): void => void setTimeout(() => resolve({ why: "the call was stopped" }), ms).unref();
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
}

/** `isShared`: the editor saved it meanwhile, so the last contents may be the user's. */
function beforeOf({ path, kind, before, executable, after }: WorktreeChange, isShared: boolean): FileChange {
  return {
    path: normalize(path),
    isNew: kind === "created",
    ...(before !== undefined && { bytes: Buffer.from(before, "base64"), mode: executable === true ? 0o755 : 0o644 }),
    ...(after !== undefined && !isShared && { after }),
  };
}
