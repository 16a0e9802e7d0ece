// The bytes of files before the agent's calls changed them, kept in a folder of the extension's own over restarts, up
// to a bound. A folder for each session, in it a line for each change and a file for each content; the oldest go first.
// Which files a rewind restores is plan.ts's; no editor here, and nothing is logged.

import { createHash, randomUUID } from "node:crypto";
import { appendFile, mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { KeyedQueue } from "../shared/keyed-queue.ts";

/** The call of a tool, as the sidecar names it. A branch of a session names it the same. */
export interface CallName {
  turnId: string;
  toolCallId: string;
}

/** A change of a file, and where to find what it said before. */
export interface BeforeImage extends CallName {
  /** From the folder on. */
  path: string;
  /** SHA-256 of what was in it, which names what is kept; missing where there was no file, or where it was too large. */
  content?: string;
  /** True if the call made the file. */
  isNew: boolean;
  /** Permission bits. */
  mode?: number;
  /** SHA-256 of the file after the change; missing where the change was not seen to its end. */
  after?: string;
  /**
   * True once the user kept the change; once they undid it, what the file was before that (`identityOf`); false once it came
   * back after that.
   */
  settled?: boolean | string;
  /** SHA-256 of the earlier contents with those hunks that the user kept since. */
  baseline?: string;
}

/** A file before a change: its bytes on disk; none where the call makes it. */
export interface Before {
  path: string;
  bytes?: Uint8Array;
  mode?: number;
}

/** A file that a call changed, as it was before and after. */
export interface FileChange extends Before {
  /** True if the call made the file. */
  isNew: boolean;
  /** SHA-256 afterwards; missing where nothing is there. */
  after?: string;
}

/** A line of the index: a change, or whether all changes of a call are known. */
type Line = BeforeImage & {
  /** When the call came to the file, or began if it may change any; in milliseconds. Missing in older lines. */
  at?: number;
  /** True if all are known, else why they are not. */
  covered?: true | string;
};

/** Whether all changes of a call are known, or why not; undefined if nothing was noted of it. */
export type CoverOf = (call: CallName) => true | string | undefined;

/** A larger file is not kept: it would push out many others. */
const MOST_FILE_BYTES = 5_000_000;
const INDEX = "index.jsonl";

export class BeforeImages {
  readonly #home: string;
  readonly #mostBytes: () => number;
  readonly #keeping = new KeyedQueue();
  /** Called when something was noted of a change. */
  onChange: () => void = () => undefined;

  /** `mostBytes` is asked with each file, for it is a setting. */
  constructor(home: string, mostBytes: () => number) {
    this.#home = home;
    this.#mostBytes = mostBytes;
  }

  /** Keeps what is in a file, before a call changes it. */
  keep(call: CallName, before: Before): Promise<void> {
    return this.keepAll(call, Date.now(), [{ ...before, isNew: before.bytes === undefined }]);
  }

  /** Keeps what was in all files that a call changed which began at this time, once it is over. */
  keepAll(call: CallName, at: number, changes: readonly FileChange[]): Promise<void> {
    // One at a time: what is made room for is there until it is written.
    return this.#keeping.run(this.#home, () => this.#keepAll(call, at, changes));
  }

  async #keepAll(call: CallName, at: number, changes: readonly FileChange[]): Promise<void> {
    const most = this.#mostBytes();
    if (most === 0 || changes.length === 0) return;
    const folder = this.#folderOf(sessionOf(call));
    await mkdir(folder, { recursive: true, mode: 0o700 });
    let size = 0;
    const lines: Partial<Line>[] = [];
    const kept: [string, Uint8Array][] = [];
    for (const { path, bytes, mode, isNew, after } of changes) {
      const isKept = bytes !== undefined && bytes.length <= MOST_FILE_BYTES && size + bytes.length <= most;
      const content = isKept ? hashOf(bytes) : undefined;
      if (isKept && content !== undefined) {
        size += bytes.length;
        kept.push([content, bytes]);
      }
      const more = {
        ...(content !== undefined && { content }),
        ...(mode !== undefined && { mode }),
        ...(after !== undefined && { after }),
      };
      lines.push({ ...nameOf(call), path, isNew, ...more, at });
    }
    // Room is made once: a command may change thousands of files.
    await this.#makeRoom(most - size);
    for (const [content, bytes] of kept) await put(join(folder, content), bytes);
    await this.#write(folder, ...lines);
  }

  /** Notes that all changes of a call are known, or why they are not. */
  async cover(call: CallName, covered: true | string): Promise<void> {
    if (this.#mostBytes() === 0) return;
    const folder = this.#folderOf(sessionOf(call));
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await this.#write(folder, { ...nameOf(call), covered });
  }

  /** Tells of calls whether all their changes are known, or why not; undefined if nothing was noted. */
  async covers(calls: readonly CallName[]): Promise<CoverOf> {
    const found = new Map<string, true | string>();
    for (const session of new Set(calls.map(sessionOf))) {
      for (const line of await linesOf(join(this.#folderOf(session), INDEX))) {
        if (line.covered !== undefined) found.set(keyOf(line), line.covered);
      }
    }
    return (call) => found.get(keyOf(call));
  }

  /** Notes how the file came out of the change. */
  async changed(call: CallName, path: string, after: string): Promise<void> {
    if (this.#mostBytes() === 0) return;
    await this.#write(this.#folderOf(sessionOf(call)), { ...nameOf(call), path, after });
  }

  /** Changes by these calls, in the order in which they happened, which is not that of the calls: calls of one round run in parallel. */
  async of(calls: readonly CallName[]): Promise<BeforeImage[]> {
    const wanted = new Set(calls.map(keyOf));
    const found: BeforeImage[] = [];
    // What a branch took over was said before what is its own.
    for (const session of new Set(calls.map(sessionOf))) {
      const all = await this.ofSession(session);
      found.push(...all.filter((image) => wanted.has(keyOf(image))));
    }
    return found;
  }

  /** Changes by all calls of a session, also those that a rewind took out of it, in the order in which they happened. */
  async ofSession(sessionId: string): Promise<BeforeImage[]> {
    const known = new Map<string, Line>();
    for (const line of await linesOf(join(this.#folderOf(sessionId), INDEX))) {
      if (line.path === undefined) continue;
      const key = `${keyOf(line)}\n${line.path}`;
      const { after, settled, baseline } = line;
      const newer = {
        ...(after !== undefined && { after }),
        ...(settled !== undefined && { settled }),
        ...(baseline !== undefined && { baseline }),
      };
      // A call that was run again began from what the first run found.
      known.set(key, { ...line, ...known.get(key), ...newer });
    }
    // A command is kept when it is over, but what it found was there when it began.
    const found = [...known.values()].sort((one, other) => (one.at ?? 0) - (other.at ?? 0));
    return found.map(({ at: _, ...image }) => image);
  }

  /** Notes that the user kept changes, or undid them in files that were `settled` before that, or that these are back. */
  async settle(images: readonly BeforeImage[], settled: boolean | string): Promise<void> {
    for (const [session, own] of Map.groupBy(images, sessionOf)) {
      await this.#write(this.#folderOf(session), ...own.map((image) => ({ ...nameOf(image), path: image.path, settled })));
    }
  }

  /** Keeps the contents that the user goes back to instead of those before a change, since some of its hunks were kept. */
  async rebase(image: BeforeImage, bytes: Uint8Array): Promise<void> {
    await this.#keeping.run(this.#home, async () => {
      const folder = this.#folderOf(sessionOf(image));
      await this.#makeRoom(this.#mostBytes() - bytes.length);
      const baseline = hashOf(bytes);
      await put(join(folder, baseline), bytes);
      await this.#write(folder, { ...nameOf(image), path: image.path, baseline });
    });
  }

  /** The earlier contents; undefined if they are no longer kept or are damaged. */
  async bytesOf(image: BeforeImage): Promise<Uint8Array | undefined> {
    if (image.content === undefined) return undefined;
    try {
      const bytes = await readFile(join(this.#folderOf(sessionOf(image)), image.content));
      // What a crash or a disk damaged is nothing.
      return hashOf(bytes) === image.content ? bytes : undefined;
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  /** Forgets what calls of a session changed. */
  async forget(sessionId: string): Promise<void> {
    await rm(this.#folderOf(sessionId), { recursive: true, force: true });
  }

  #folderOf(session: string): string {
    // An id may hold what no name of a folder can.
    return join(this.#home, hashOf(Buffer.from(session, "utf8")).slice(0, 32));
  }

  async #write(folder: string, ...lines: Partial<Line>[]): Promise<void> {
    // A line begins by itself, so that one that a crash tore spoils no other.
    await appendFile(join(folder, INDEX), lines.map((line) => `\n${JSON.stringify(line)}`).join(""), { mode: 0o600 });
    this.onChange();
  }

  /** Takes the oldest away until no more than so many bytes are left. */
  async #makeRoom(most: number): Promise<void> {
    const kept: { file: string; size: number; at: number }[] = [];
    for (const folder of await namesIn(this.#home)) {
      for (const name of await namesIn(join(this.#home, folder))) {
        if (name === INDEX) continue;
        const file = join(this.#home, folder, name);
        // Another window may have taken it away meanwhile.
        const found = await stat(file).catch(() => undefined);
        if (found !== undefined) kept.push({ file, size: found.size, at: found.mtimeMs });
      }
    }
    let left = kept.reduce((sum, { size }) => sum + size, 0);
    for (const { file, size } of kept.sort((a, b) => a.at - b.at)) {
      if (left <= most) return;
      await rm(file, { force: true });
      left -= size;
    }
  }
}

/** SHA-256 in hexadecimal. */
export function hashOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function nameOf({ turnId, toolCallId }: CallName): CallName {
  return { turnId, toolCallId };
}

function keyOf({ turnId, toolCallId }: CallName): string {
  return `${turnId}\n${toolCallId}`;
}

/** The session in which a turn was said. A branch has the turns of the session that it began from under their ids. */
export function sessionOf({ turnId }: CallName): string {
  const end = turnId.lastIndexOf("/");
  return end < 0 ? turnId : turnId.slice(0, end);
}

/** Writes a file whole or not at all. */
async function put(file: string, bytes: Uint8Array): Promise<void> {
  const now = new Date();
  const isThere = await utimes(file, now, now).then(
    () => true,
    () => false,
  );
  if (isThere) return;
  // The same content may be kept twice at the same moment.
  const part = `${file}.${randomUUID()}`;
  await writeFile(part, bytes, { mode: 0o600 });
  await rename(part, file);
}

async function linesOf(file: string): Promise<Line[]> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
  return text.split("\n").flatMap((line) => {
    try {
      return [JSON.parse(line) as Line];
    } catch {
      // The last line of a process that was killed.
      return [];
    }
  });
}

async function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch((error: unknown) => {
    if (isMissing(error) || (error as NodeJS.ErrnoException).code === "ENOTDIR") return [];
    throw error;
  });
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "ENOENT";
}
