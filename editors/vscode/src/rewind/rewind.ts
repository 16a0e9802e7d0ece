// Asks what to do about changed files before a part of the conversation is removed (edit, retry, rewind), then restores the
// chosen files and changes the conversation.

import { argumentsOf, type Session } from "@threadhold/client";
import type * as vscode from "vscode";
import { isBusy } from "../panel/frame.ts";
import type { Chat } from "../session/chat.ts";
import { errorText } from "../shared/text.ts";
import type { NoticeRow, RewindFile, RewindGoal, RewindLost, RewindRow } from "../shared/view.ts";
import type { Diffs } from "../tools/edit.ts";
import { isTraced } from "../tools/toolbox.ts";
import type { BeforeImage, BeforeImages } from "./before-images.ts";
import { heldIn, standingOf, textOf, uriOf, type Wanted } from "./files.ts";
import { byFile, callsFrom, fileOf, isSame } from "./plan.ts";
import { listed, type Restore, type Restorer, restored, type Say } from "./restorer.ts";
import { cutAt, type Rewound, rewoundNotice } from "./rewound.ts";
import { unknownOf } from "./untracked.ts";

/** A change of the conversation that waits for a decision about files. */
export interface RewindRequest {
  goal: RewindGoal;
  /** Everything from this message on is taken away, or asked or answered again. */
  messageId: string;
  /** Does it, and answers the revision that keeps the conversation from before. */
  go: () => Promise<string | undefined>;
  /** Called if the user cancels, to give back the edited text. */
  leave?: () => void;
}

interface PendingRewind extends RewindRequest {
  session: Session;
  row: RewindRow;
  /** Each file that can be restored: what is to be in it, and how it stood when the user was asked. */
  wanted: Map<string, Wanted>;
}

/** Files that changed from a message on. */
interface Found {
  files: RewindFile[];
  lost: RewindLost[];
  wanted: Map<string, Wanted>;
  /** Their changes by the calls from there on. */
  images: BeforeImage[];
}

export class Rewind {
  readonly #chat: Chat;
  readonly #images: BeforeImages | undefined;
  readonly #diffs: Diffs;
  readonly #restorer: Restorer;
  readonly #onRestored: (images: BeforeImage[], files: readonly Wanted[]) => Promise<void>;
  #asked: PendingRewind | undefined;
  #rewound: Rewound | undefined;
  #isGoing = false;
  #count = 0;

  /** `onRestored` is given the files that were restored, and the changes that the restore took back. */
  constructor(
    chat: Chat,
    images: BeforeImages | undefined,
    diffs: Diffs,
    restorer: Restorer,
    onRestored: (images: BeforeImage[], files: readonly Wanted[]) => Promise<void>,
  ) {
    this.#chat = chat;
    this.#images = images;
    this.#diffs = diffs;
    this.#restorer = restorer;
    this.#onRestored = onRestored;
  }

  /** The question that waits in the session that is shown. */
  get row(): RewindRow | undefined {
    return this.#asked?.session === this.#chat.session ? this.#asked?.row : undefined;
  }

  /** What is said behind the conversation of the session that is shown after a part of it was taken away. */
  get notice(): NoticeRow | undefined {
    const rewound = this.#rewound;
    return rewound?.session === this.#chat.session ? rewound && rewoundNotice(rewound, rewound.session.view.snapshot) : undefined;
  }

  /** Brings back what was taken away, and has the files as they were with it. */
  async undo(say: Say): Promise<void> {
    const rewound = this.#rewound;
    if (rewound === undefined || rewound.session !== this.#chat.session) return;
    await rewound.session.request("session/restore", { revisionId: rewound.revisionId });
    this.#rewound = undefined;
    if (rewound.restore !== undefined) await this.#restorer.putBack(say, rewound.restore);
  }

  /** Asks what becomes of the files; goes on at once where none changed. */
  async ask(session: Session, step: RewindRequest): Promise<void> {
    if (this.#asked !== undefined) await this.leave();
    const { folder } = this.#chat;
    if (folder === undefined) return;
    // Who only reads a session is told so by the sidecar.
    if (session.view.snapshot.heldBy !== undefined) return void (await step.go());
    const { files, lost, wanted } = await this.#changes(session, step.messageId, folder.uri);
    if (files.length === 0 && lost.length === 0) {
      const note = this.#noteOf(session, step);
      return note(await step.go());
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
    const outcome = await this.#restorer.restore(chosen, folder.uri);
    const { before, failed } = outcome;
    const note = this.#noteOf(asked.session, asked);
    let revisionId: string | undefined;
    try {
      revisionId = await asked.go();
    } catch (error) {
      // Both or neither.
      const back = await this.#restorer.restore(before, folder.uri);
      if (back.failed.length === 0) throw error;
      throw new Error(
        `${errorText(error)} These files were already restored: ${back.failed.map(({ what, why }) => `${what} (${why})`).join(", ")}`,
      );
    }
    const notDone = new Set(failed.map(({ what }) => what));
    await this.#onRestored(
      now.images,
      chosen.filter(({ path }) => !notDone.has(path)),
    );
    const said = restored(chosen.length - failed.length, failed.length).join(" ");
    note(revisionId, chosen.length === 0 ? undefined : this.#restorer.tell(said, chosen, outcome, folder.uri, say));
  }

  /** Looks at what is about to be taken away. What it answers keeps the way back to it. */
  #noteOf(session: Session, { messageId, goal }: RewindRequest): (revisionId: string | undefined, restore?: Restore) => void {
    const { isMore, ...cut } = cutAt(session.view.snapshot, messageId, goal);
    return (revisionId, restore) => {
      if (revisionId === undefined || !isMore) return;
      this.#rewound = { session, revisionId, goal, ...cut, ...(restore !== undefined && { restore }) };
      this.#chat.changed();
    };
  }

  /** Leaves conversation and files as they are. */
  async leave(): Promise<void> {
    if (this.#isGoing) return;
    const leave = this.#asked?.leave;
    this.#forget();
    leave?.();
    this.#chat.changed();
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

  async #changes(session: Session, messageId: string, folder: vscode.Uri): Promise<Found> {
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
    return { files, lost, wanted, images };
  }
}

const AT_WORK = "The agent is still running and may change files. Stop it (press Escape in the input box), then try again.";

/** True if what would be lost is what the user was told of. */
function isStill(told: Wanted | undefined, found: Wanted | undefined): boolean {
  return told !== undefined && found !== undefined && isSame(told.now, found.now);
}
