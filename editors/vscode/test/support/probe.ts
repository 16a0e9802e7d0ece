// The scripted model of the editor: its package, its script, what it was asked.

import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Asked, Given, Script } from "../extension/src/script.ts";

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

  /** Requests so far. */
  get asked(): Asked[] {
    return this.#lines("requests.jsonl") as Asked[];
  }

  /** Requests of its participant so far. */
  get given(): Given[] {
    return this.#lines("given.jsonl") as Given[];
  }

  /** All requests kept to what the editor's models take: its roles, its ways to use tools, the window of each model. */
  keepsToLimits(windows: { [model: string]: number }): void {
    const { asked } = this;
    assert.ok(asked.length > 0);
    for (const [at, { messages, toolMode, tools, tokens, model, summary }] of asked.entries()) {
      const which = `request ${at}`;
      for (const { role } of messages) assert.match(role, /^(User|Assistant)$/, which);
      assert.match(toolMode, /^(Auto|Required)$/, which);
      if (summary) assert.deepEqual(tools, [], `${which} asks for words and offers no tools`);
      assert.ok(tokens <= (windows[model] ?? 0), `${which} has ${tokens} tokens, more than ${model} takes`);
    }
  }

  /** Has answers that wait for this name wait. */
  hold(name: string): void {
    writeFileSync(join(this.folder, name), "");
  }

  /** Has them go on. */
  release(name: string): void {
    rmSync(join(this.folder, name), { force: true });
  }

  #lines(name: string): unknown[] {
    const path = join(this.folder, name);
    if (!existsSync(path)) return [];
    return readFileSync(path, "utf8")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as unknown);
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
