// Parts of the tools that need no editor: shell commands that leave processes running or resist their end, regular
// expressions that never finish, and errors that mean that a prompt is too large.

import assert from "node:assert/strict";
import { tmpdir } from "node:os";
import { test } from "node:test";
import { isOverflow } from "../../src/models/overflow.ts";
import { Matcher } from "../../src/tools/matcher.ts";
import { start } from "../../src/tools/shell.ts";

const isThere = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

async function gone(pid: number): Promise<void> {
  while (isThere(pid)) await new Promise((done) => setTimeout(done, 50));
}

test("a command that leaves something running has ended, and what it left can be stopped", async () => {
  const { ended, stop } = start("sleep 600 & echo $!", tmpdir(), () => undefined);
  const { printed, code, remark, isLeft } = await ended;
  assert.deepEqual({ code, isLeft }, { code: 0, isLeft: true });
  assert.match(remark, /background process is still running/);
  const pid = Number(printed);
  assert.ok(isThere(pid));
  stop();
  await gone(pid);
});

test("a command that does not want to end is ended", async () => {
  const heard = Promise.withResolvers<number>();
  const { ended, stop } = start("trap '' TERM; echo $$; while :; do sleep 1; done", tmpdir(), (said) => heard.resolve(Number(said)));
  const pid = await heard.promise;
  stop();
  const { code, remark } = await ended;
  assert.equal(code, null);
  assert.match(remark, /SIGKILL/);
  await gone(pid);
  // A number that may be another's by now.
  stop();
});

test("an expression that takes for ever ends with its search", async () => {
  const signal = new AbortController().signal;
  await using good = new Matcher("^fn \\w+", signal);
  assert.deepEqual(await good.find(["fn main() {}", "// fn", "fn help() {}"]), [0, 2]);
  assert.deepEqual(await good.find(["x"]), []);
  await using bad = new Matcher("^(a+)+$", signal, 500);
  const lines = [`${"a".repeat(60)}!`];
  await assert.rejects(bad.find(lines), /takes too long/);
  await assert.rejects(bad.find(lines), /takes too long/);
  assert.throws(() => new Matcher("(", signal), SyntaxError);
});

test("a prompt that is too large is told from a quota that is used up", () => {
  const large = [
    "This model's maximum context length is 128000 tokens",
    "prompt is too long: 210000 tokens > 200000 maximum",
    "Message exceeds token limit.",
    "The request is too large for the model",
    "input exceeds the context window",
  ];
  const other = [
    "Sorry, you have exceeded your Copilot token usage. Please review our Terms of Service.",
    "Response took too long",
    "Rate limit exceeded: 30000 tokens per minute",
    "You exceeded your current quota",
    "The quota is used up",
  ];
  assert.deepEqual([...large, ...other].filter(isOverflow), large);
});
