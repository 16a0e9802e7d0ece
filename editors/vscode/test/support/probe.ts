// The scripted model of the editor: its package, its script, what it was asked.

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Asked, Script } from "../extension/src/script.ts";

/** The package that `test/run` made. */
export const PROBE = "test/extension/dist/probe.vsix";

export class Probe {
  readonly folder = mkdtempSync(join(tmpdir(), "threadhold-probe-"));

  constructor(script: Script) {
    this.script(script);
  }

  /** Has it answer from another script; requests are counted on. */
  script(script: Script): void {
    writeFileSync(join(this.folder, "script.json"), JSON.stringify(script));
  }

  /** What it was asked so far. */
  get asked(): Asked[] {
    const path = join(this.folder, "requests.jsonl");
    if (!existsSync(path)) return [];
    return readFileSync(path, "utf8").split("\n").filter((line) => line !== "").map((line) => JSON.parse(line) as Asked);
  }

  /** Has answers that wait for this name wait. */
  hold(name: string): void {
    writeFileSync(join(this.folder, name), "");
  }

  /** Has them go on. */
  release(name: string): void {
    rmSync(join(this.folder, name), { force: true });
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
