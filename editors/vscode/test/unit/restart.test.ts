// Settings of the program that change while it starts.

import assert from "node:assert/strict";
import { test } from "node:test";
import { startWithCurrent } from "../../src/session/restart.ts";

/** Starts that go on when the test says so, each with the settings of its time. */
class Starts {
  now = "a";
  readonly with: string[] = [];
  readonly #open: { resolve: (name: string) => void; reject: (error: Error) => void }[] = [];

  run(): Promise<string> {
    return startWithCurrent(
      () => {
        this.with.push(this.now);
        return new Promise((resolve, reject) => this.#open.push({ resolve, reject }));
      },
      () => this.now,
    );
  }

  async ends(error?: Error): Promise<void> {
    const start = this.#open.shift();
    if (error === undefined) start?.resolve(this.with.at(-1) ?? "");
    else start?.reject(error);
    // What follows from that is done first.
    await new Promise(setImmediate);
  }
}

test("a program whose settings stay is started once", async () => {
  const starts = new Starts();
  const running = starts.run();
  await starts.ends();
  assert.equal(await running, "a");
  assert.deepEqual(starts.with, ["a"]);
});

test("a program is started again with what was set while it started", async () => {
  const starts = new Starts();
  const running = starts.run();
  starts.now = "b";
  await starts.ends();
  assert.deepEqual(starts.with, ["a", "b"]);
  await starts.ends();
  assert.equal(await running, "b");
});

test("a failed start counts only with the settings of now", async () => {
  const starts = new Starts();
  const running = starts.run();
  starts.now = "b";
  await starts.ends(new Error("no such program"));
  assert.deepEqual(starts.with, ["a", "b"]);
  const rejected = assert.rejects(running, /still none/);
  await starts.ends(new Error("still none"));
  await rejected;
});
