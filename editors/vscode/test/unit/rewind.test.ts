// What a rewind can put back: earlier texts kept within their bound and over damage, and which files are offered, refused
// or named with somebody else's changes. No editor is needed.

import assert from "node:assert/strict";
import { appendFileSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { Message, Part } from "@threadhold/client";
import { type BeforeImage, BeforeImages, hashOf } from "../../src/rewind/before-images.ts";
import { byFile, callsFrom, fileOf, type FileNow, namedBy, unknownChanges } from "../../src/rewind/plan.ts";

const sha = (text: string): string => hashOf(Buffer.from(text));
const call = (turnId: string, toolCallId: string) => ({ turnId, toolCallId });

function images(mostBytes: number) {
  const home = mkdtempSync(join(tmpdir(), "threadhold-images-"));
  const made = () => new BeforeImages(home, () => mostBytes);
  return { home, made, kept: made(), [Symbol.dispose]: () => rmSync(home, { recursive: true, force: true }) };
}

/** The files in which texts are, by session. */
const texts = (home: string): string[] =>
  readdirSync(home).flatMap((folder) => readdirSync(join(home, folder)).filter((name) => name !== "index.jsonl").map((name) => join(home, folder, name)));

test("what a file said is there after a restart, and after a line was torn", async () => {
  using store = images(1000);
  await store.kept.keep(call("s/t0", "c1"), { path: "a.txt", before: "one", isNew: false });
  await store.kept.changed(call("s/t0", "c1"), "a.txt", sha("two"));
  appendFileSync(join(store.home, readdirSync(store.home)[0] ?? "", "index.jsonl"), '\n{"turnId":"s/t0","tool');
  await store.kept.keep(call("s/t1", "c1"), { path: "b.txt", before: "b", isNew: false });
  assert.equal((await store.kept.of([call("s/t1", "c1")]))[0]?.text, sha("b"), "the next line is whole");
  const [image, ...more] = await store.made().of([call("s/t0", "c1"), call("s/t0", "c2")]);
  assert.deepEqual(image, { ...call("s/t0", "c1"), path: "a.txt", isNew: false, text: sha("one"), after: sha("two") });
  assert.deepEqual(more, []);
  assert.equal(await store.made().textOf(image as BeforeImage), "one");
  // A call that is run again after a crash began from what the first run found.
  await store.made().keep(call("s/t0", "c1"), { path: "a.txt", before: "half", isNew: false });
  assert.equal((await store.made().of([call("s/t0", "c1")]))[0]?.text, sha("one"));
  await store.kept.forget("s");
  assert.deepEqual(await store.kept.of([call("s/t0", "c1")]), []);
});

test("the oldest texts go when there are too many, and damaged ones are none", async () => {
  using store = images(100);
  const textOf = async (turn: string) => store.kept.textOf((await store.kept.of([call(turn, "c")]))[0] as BeforeImage);
  await store.kept.keep(call("s/t0", "c"), { path: "a", before: "a".repeat(60), isNew: false });
  const [first = ""] = texts(store.home);
  utimesSync(first, 1, 1);
  await store.kept.keep(call("s/t1", "c"), { path: "b", before: "b".repeat(40), isNew: false });
  assert.equal(await textOf("s/t0"), "a".repeat(60), "both fit");
  await store.kept.keep(call("other/t0", "c"), { path: "c", before: "c".repeat(30), isNew: false });
  assert.equal(await textOf("s/t0"), undefined, "the oldest went, though it is of another session");
  assert.equal(await textOf("s/t1"), "b".repeat(40));
  await store.kept.keep(call("s/t2", "c"), { path: "d", before: "d".repeat(101), isNew: false });
  assert.equal(await textOf("s/t2"), undefined, "one that never fits is not kept");
  assert.equal(await textOf("s/t1"), "b".repeat(40), "and pushes nothing out");
  writeFileSync(texts(store.home).find((file) => file.endsWith(sha("b".repeat(40)))) ?? "", "damaged");
  assert.equal(await textOf("s/t1"), undefined);
  using none = images(0);
  await none.kept.keep(call("s/t0", "c"), { path: "a", before: "a", isNew: false });
  assert.deepEqual(await none.kept.of([call("s/t0", "c")]), [], "nothing is kept where the setting says so");
});

const image = (of: Partial<BeforeImage>): BeforeImage => ({ ...call("t", "c"), path: "a", isNew: false, text: sha("one"), after: sha("two"), ...of });
const now = (text: string, of: Partial<FileNow> = {}): FileNow => ({ isThere: true, sha256: sha(text), isUnsaved: false, isAsBefore: text === "one", ...of });
const offered = (images: BeforeImage[], standing: FileNow, isKept = true) => {
  const changed = byFile(images).get("a");
  return changed === undefined ? undefined : fileOf("a", changed, standing, isKept);
};

test("a file is put back only over what the agent left, or with a word on whose changes go", () => {
  assert.deepEqual(offered([image({})], now("two")), { path: "a", how: "restore" });
  assert.equal(offered([image({})], now("one")), undefined, "it says already what it said");
  assert.deepEqual(offered([image({})], now("three")), { path: "a", how: "restore", others: "since" });
  assert.deepEqual(offered([image({})], now("two", { isUnsaved: true })), { path: "a", how: "restore", others: "unsaved" });
  const { after: _, ...unfinished } = image({});
  assert.deepEqual(offered([unfinished], now("two")), { path: "a", how: "restore", others: "unknown" });
  const chain = [image({}), image({ text: sha("two"), after: sha("three") })];
  assert.deepEqual(offered(chain, now("three")), { path: "a", how: "restore" });
  const broken = [image({}), image({ text: sha("by hand"), after: sha("three") })];
  assert.deepEqual(offered(broken, now("three")), { path: "a", how: "restore", others: "between" });
  assert.deepEqual(offered([image({})], { isThere: false, isUnsaved: false, isAsBefore: false }), { path: "a", how: "create" });
  assert.match(JSON.stringify(offered([image({})], now("two"), false)), /not kept any more/);
});

test("a file that the agent made is deleted, and one that is gone is left alone", () => {
  const { text: _, ...made } = image({ isNew: true });
  assert.deepEqual(offered([made], now("two"), false), { path: "a", how: "delete" });
  assert.deepEqual(offered([made], now("more"), false), { path: "a", how: "delete", others: "since" });
  assert.equal(offered([made], { isThere: false, isUnsaved: false, isAsBefore: false }, false), undefined);
});

test("calls from a message on, those that may have changed something else, and what they name", () => {
  const message = (id: string, parts: Part[]): Message => ({ id, ord: 0, rev: 0, turnId: "t", role: "assistant", parts, tokens: 1 });
  const asked = (id: string, name: string, given: object): Part => ({ type: "toolCall", id, name, arguments: JSON.stringify(given) });
  const messages = [
    message("m0", [asked("c0", "run_command", { command: "make" })]),
    message("m1", [
      asked("c1", "edit_file", { path: "a.txt" }),
      asked("c2", "run_command", { command: 'sed -i s/a/b/ "src/b.txt"; rm ./c.txt && curl https://example.com/d.txt' }),
      asked("c3", "probe_read", { path: "e.txt" }),
      asked("c4", "replaceString", { filePath: "f.txt" }),
    ]),
    message("m2", [{ type: "toolResult", toolCallId: "c4", content: "ok", effects: [{ path: "g.txt", sha256: "" }] }]),
  ];
  const calls = callsFrom({ messages }, "m1", (part) => JSON.parse(String(part.arguments)) as { [name: string]: unknown });
  assert.deepEqual(calls.map(({ toolCallId, succeeded }) => [toolCallId, succeeded]), [["c1", false], ["c2", false], ["c3", false], ["c4", true]]);
  const unknown = unknownChanges(calls, (name) => name === "edit_file");
  assert.deepEqual(unknown.map(({ name }) => name), ["run_command", "replaceString"], "what only reads is not suspected");
  const named = unknown.map(namedBy);
  assert.ok(named[0]?.includes("src/b.txt") && named[0].includes("./c.txt") && !named[0].some((name) => name.includes("example.com")));
  assert.deepEqual(named[1], ["g.txt", "f.txt"]);
});
