// What a browser keeps of the editor's scripts, for the browsers of later tests: without it each of them fetches and compiles
// the whole editor. A browser keeps it by address, so one editor after the other has the same port where that is free.
// Editors that run at the same time each have their own.

import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type ListenOptions, type Server } from "node:net";
import { join } from "node:path";

/** Parts of a browser's profile that hold scripts and no state of a window. */
const PARTS = ["Cache", "Code Cache"];
/** A script is compiled for later when it is seen again: so many browsers add to what is kept. */
const MOST_TAKEN = 3;

export class BrowserCache {
  readonly #all: string;
  #folder = "";
  /** Tells the processes of other tests that the folder is in use; the system ends it with this process. */
  #claim: Server | undefined;

  /** Keeps it in this folder, which no other version of the editor may have. */
  constructor(folder: string) {
    this.#all = folder;
  }

  /** The port of earlier editors; another one if there was none or somebody has it. */
  async port(): Promise<number> {
    await this.#claimPart();
    const file = join(this.#folder, "port");
    const former = existsSync(file) ? Number(readFileSync(file, "utf8")) : 0;
    if (former !== 0 && (await freePort(former)) !== undefined) return former;
    const port = (await freePort(0)) ?? 0;
    if (former === 0) {
      mkdirSync(this.#folder, { recursive: true });
      writeFileSync(file, String(port));
    }
    return port;
  }

  /** Lets a later editor have the port and what is kept for it. */
  release(): void {
    this.#claim?.close();
    this.#claim = undefined;
  }

  /** Takes the first part that no other editor uses. */
  async #claimPart(): Promise<void> {
    const name = createHash("sha256").update(this.#all).digest("hex").slice(0, 16);
    for (let part = 0; this.#claim === undefined; part++) {
      // A name of the system's, without a file that would stay after a process that is killed.
      this.#claim = await listening({ path: `\0threadhold-browser-${name}-${part}` });
      this.#folder = join(this.#all, `part-${part}`);
    }
    this.#claim.unref();
  }

  /** Puts what is kept into a profile that no browser used yet. */
  put(profile: string): void {
    const taken = this.#taken();
    if (taken > 0) cpSync(this.#path(taken), join(profile, "Default"), { recursive: true });
  }

  /** Keeps what a browser that has ended left in its profile. */
  take(profile: string): void {
    const taken = this.#taken();
    const parts = PARTS.filter((part) => existsSync(join(profile, "Default", part)));
    if (taken >= MOST_TAKEN || parts.length < PARTS.length) return;
    const unfinished = join(this.#folder, `unfinished-${process.pid}`);
    for (const part of parts) cpSync(join(profile, "Default", part), join(unfinished, part), { recursive: true });
    renameSync(unfinished, this.#path(taken + 1));
    rmSync(this.#path(taken), { recursive: true, force: true });
  }

  /** How many browsers added to what is kept. */
  #taken(): number {
    if (!existsSync(this.#folder)) return 0;
    const numbers = readdirSync(this.#folder).map((name) => Number(/^taken-(\d+)$/.exec(name)?.[1] ?? 0));
    return Math.max(0, ...numbers);
  }

  #path(taken: number): string {
    return join(this.#folder, `taken-${taken}`);
  }
}

/** The port, or any for 0, on which a server can listen; undefined if another one does. */
async function freePort(port: number): Promise<number | undefined> {
  const server = await listening({ port, host: "127.0.0.1" });
  const address = server?.address();
  await new Promise((done) => (server === undefined ? done(undefined) : server.close(done)));
  return typeof address === "object" ? address?.port : undefined;
}

/** A server that listens there; undefined if another one does. */
function listening(where: ListenOptions): Promise<Server | undefined> {
  return new Promise((done, fail) => {
    const server = createServer();
    server.once("error", (error: NodeJS.ErrnoException) => (error.code === "EADDRINUSE" ? done(undefined) : fail(error)));
    server.listen(where, () => done(server));
  });
}
