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
  readonly #warn: (text: string) => void;

  /** `snapshots` is asked with each call, for it is a setting. */
  constructor(images: BeforeImages, client: () => Promise<Client>, snapshots: () => boolean, warn: (text: string) => void) {
    this.#images = images;
    this.#client = client;
    this.#snapshots = snapshots;
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
    const from = await Promise.race([this.#snapshot(folder), stopped(signal)]);
    if (typeof from === "string") {
      await this.#images.uncovered(call, from).catch(() => undefined);
      return run();
    }
    // What the user or an edit tool writes meanwhile is not the command's.
    const saved = new Set<string>();
    const listening = vscode.workspace.onDidSaveTextDocument(({ uri }) => saved.add(uri.fsPath));
    try {
      return await run();
    } finally {
      listening.dispose();
      const why = await this.#keepChanges(call, folder, from, saved);
      if (why !== undefined) await this.#images.uncovered(call, why).catch(() => undefined);
    }
  }

  /** The number of a snapshot, or why there is none. */
  async #snapshot(folder: string): Promise<number | string> {
    try {
      const client = await this.#client();
      const { snapshot, unavailable } = await client.request("worktree/snapshot", { workspaceFolder: folder });
      return snapshot ?? unavailable ?? "no reason was given";
    } catch (error) {
      return errorText(error);
    }
  }

  async #keepChanges(call: CallName, folder: string, from: number, saved: ReadonlySet<string>): Promise<string | undefined> {
    try {
      const to = await this.#snapshot(folder);
      if (typeof to === "string") return to;
      const client = await this.#client();
      for (let after: string | undefined, isFirst = true; isFirst || after !== undefined; isFirst = false) {
        const asked = { workspaceFolder: folder, from, to, ...(after !== undefined && { after }) };
        const { changes, next } = await client.request("worktree/changes", asked);
        const own = changes.filter(({ path }) => !saved.has(join(folder, path)));
        await this.#images.keepAll(call, own.map(beforeOf));
        after = next;
      }
      await this.#images.covered(call);
      return undefined;
    } catch (error) {
      this.#warn(`the changes of a call cannot be kept for a rewind: ${errorText(error)}`);
      return errorText(error);
    }
  }
}

/** Comes once a call is stopped. */
function stopped(signal: AbortSignal): Promise<string> {
  return new Promise((resolve) => {
    const stop = (): void => resolve("the call was stopped before it began");
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
}

function beforeOf({ path, kind, before, executable, after }: WorktreeChange): FileChange {
  return {
    path: normalize(path),
    isNew: kind === "created",
    ...(before !== undefined && { bytes: Buffer.from(before, "base64"), mode: executable === true ? 0o755 : 0o644 }),
    ...(after !== undefined && { after }),
  };
}
