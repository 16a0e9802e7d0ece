// What a browser keeps of the editor's scripts, for the browsers of later tests: without it each of them fetches and compiles
// the whole editor. A browser keeps it by address, so one editor after the other has the same port where that is free.

import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";

/** Parts of a browser's profile that hold scripts and no state of a window. */
const PARTS = ["Cache", "Code Cache"];
/** A script is compiled for later when it is seen again: so many browsers add to what is kept. */
const MOST_TAKEN = 3;

export class BrowserCache {
  readonly #folder: string;

  /** Keeps it in this folder, which no other version of the editor may have. */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /** The port of earlier editors; another one if there was none or somebody has it. */
  async port(): Promise<number> {
    const file = join(this.#folder, "port");
    const former = existsSync(file) ? Number(readFileSync(file, "utf8")) : 0;
    if (former !== 0 && (await listens(former)) !== undefined) return former;
    const port = (await listens(0)) ?? 0;
    if (former === 0) {
      mkdirSync(this.#folder, { recursive: true });
      writeFileSync(file, String(port));
    }
    return port;
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

/** The port, or any for 0, on which a server can listen; undefined if none can. */
function listens(port: number): Promise<number | undefined> {
  return new Promise((done) => {
    const server = createServer();
    server.once("error", () => done(undefined));
    server.listen(port, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => done(typeof address === "object" ? address?.port : undefined));
    });
  });
}
