// Rewinds of files: earlier contents within their size limit and after damage, and which files are offered, refused, or
// named with somebody else's changes. No editor is needed.

import assert from "node:assert/strict";
import { appendFileSync, mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { Message, Part } from "@threadhold/client";
import { type BeforeImage, BeforeImages, hashOf } from "../../src/rewind/before-images.ts";
import { byFile, callsFrom, commandOf, type FileNow, fileOf, namedBy, unknownChanges } from "../../src/rewind/plan.ts";
import { CommandEffects, type ReadEffects, sentencesOf } from "../../src/session/command-effects.ts";

const bytes = (text: string): Uint8Array => Buffer.from(text);
const sha = (text: string): string => hashOf(bytes(text));
const plain = (found: Uint8Array | undefined): string | undefined =>
  found === undefined ? undefined : Buffer.from(found).toString("utf8");
const call = (turnId: string, toolCallId: string) => ({ turnId, toolCallId });

function images(mostBytes: number) {
  const home = mkdtempSync(join(tmpdir(), "threadhold-images-"));
  const made = () => new BeforeImages(home, () => mostBytes);
  return { home, made, kept: made(), [Symbol.dispose]: () => rmSync(home, { recursive: true, force: true }) };
}

/** The files in which texts are, by session. */
const texts = (home: string): string[] =>
  readdirSync(home).flatMap((folder) =>
    readdirSync(join(home, folder))
      .filter((name) => name !== "index.jsonl")
      .map((name) => join(home, folder, name)),
  );

test("what a file said is there after a restart, and after a line was torn", async () => {
  using store = images(1000);
  await store.kept.keep(call("s/t0", "c1"), { path: "a.txt", bytes: bytes("one") });
  await store.kept.changed(call("s/t0", "c1"), "a.txt", sha("two"));
  appendFileSync(join(store.home, readdirSync(store.home)[0] ?? "", "index.jsonl"), '\n{"turnId":"s/t0","tool');
  await store.kept.keep(call("s/t1", "c1"), { path: "b.txt", bytes: bytes("b") });
  assert.equal((await store.kept.of([call("s/t1", "c1")]))[0]?.content, sha("b"), "the next line is whole");
  const [image, ...more] = await store.made().of([call("s/t0", "c1"), call("s/t0", "c2")]);
  assert.deepEqual(image, { ...call("s/t0", "c1"), path: "a.txt", isNew: false, content: sha("one"), after: sha("two") });
  assert.deepEqual(more, []);
  assert.equal(plain(await store.made().bytesOf(image as BeforeImage)), "one");
  // A call that is run again after a crash began from what the first run found.
  await store.made().keep(call("s/t0", "c1"), { path: "a.txt", bytes: bytes("half") });
  assert.equal((await store.made().of([call("s/t0", "c1")]))[0]?.content, sha("one"));
  await store.kept.forget("s");
  assert.deepEqual(await store.kept.of([call("s/t0", "c1")]), []);
});

test("all that a command changed is kept at once, and whether that is all", async () => {
  using store = images(100);
  const changes = [
    { path: "a.txt", bytes: bytes("one"), mode: 0o644, isNew: false, after: sha("two") },
    { path: "made.txt", isNew: true, after: sha("made") },
    { path: "gone.txt", bytes: bytes("gone"), mode: 0o755, isNew: false },
    { path: "large.txt", bytes: bytes("x".repeat(101)), isNew: false, after: sha("small") },
  ];
  await store.kept.keepAll(call("s/t0", "c1"), 1, changes);
  await store.kept.cover(call("s/t0", "c1"), true);
  await store.kept.cover(call("s/t0", "c2"), "git is not installed");
  const found = await store.made().of([call("s/t0", "c1"), call("s/t0", "c2")]);
  assert.deepEqual(found, [
    { ...call("s/t0", "c1"), path: "a.txt", isNew: false, content: sha("one"), mode: 0o644, after: sha("two") },
    { ...call("s/t0", "c1"), path: "made.txt", isNew: true, after: sha("made") },
    { ...call("s/t0", "c1"), path: "gone.txt", isNew: false, content: sha("gone"), mode: 0o755 },
    { ...call("s/t0", "c1"), path: "large.txt", isNew: false, after: sha("small") },
  ]);
  assert.equal(plain(await store.made().bytesOf(found[2] as BeforeImage)), "gone");
  const calls = ["c1", "c2", "c3"].map((id) => call("s/t0", id));
  assert.deepEqual(calls.map(await store.made().covers(calls)), [true, "git is not installed", undefined]);
});

test("a command that began first is first, though what it changed is kept when it is over", async () => {
  using store = images(1000);
  const change = (text: string) => [{ path: "a.txt", bytes: bytes(text), isNew: false, after: sha("three") }];
  await store.kept.keepAll(call("s/t0", "inner"), 2, change("two"));
  await store.kept.keepAll(call("s/t0", "outer"), 1, change("one"));
  const found = await store.kept.of([call("s/t0", "outer"), call("s/t0", "inner")]);
  assert.deepEqual(
    found.map(({ toolCallId, content }) => [toolCallId, content]),
    [
      ["outer", sha("one")],
      ["inner", sha("two")],
    ],
  );
});

test("the oldest texts go when there are too many, and damaged ones are none", async () => {
  using store = images(100);
  const textOf = async (turn: string) => plain(await store.kept.bytesOf((await store.kept.of([call(turn, "c")]))[0] as BeforeImage));
  await store.kept.keep(call("s/t0", "c"), { path: "a", bytes: bytes("a".repeat(60)) });
  const [first = ""] = texts(store.home);
  utimesSync(first, 1, 1);
  await store.kept.keep(call("s/t1", "c"), { path: "b", bytes: bytes("b".repeat(40)) });
  assert.equal(await textOf("s/t0"), "a".repeat(60), "both fit");
  await store.kept.keep(call("other/t0", "c"), { path: "c", bytes: bytes("c".repeat(30)) });
  assert.equal(await textOf("s/t0"), undefined, "the oldest went, though it is of another session");
  assert.equal(await textOf("s/t1"), "b".repeat(40));
  await store.kept.keep(call("s/t2", "c"), { path: "d", bytes: bytes("d".repeat(101)) });
  assert.equal(await textOf("s/t2"), undefined, "one that never fits is not kept");
  assert.equal(await textOf("s/t1"), "b".repeat(40), "and pushes nothing out");
  writeFileSync(texts(store.home).find((file) => file.endsWith(sha("b".repeat(40)))) ?? "", "damaged");
  assert.equal(await textOf("s/t1"), undefined);
  using none = images(0);
  await none.kept.keep(call("s/t0", "c"), { path: "a", bytes: bytes("a") });
  assert.deepEqual(await none.kept.of([call("s/t0", "c")]), [], "nothing is kept where the setting says so");
});

const image = (of: Partial<BeforeImage>): BeforeImage => ({
  ...call("t", "c"),
  path: "a",
  isNew: false,
  content: sha("one"),
  after: sha("two"),
  ...of,
});
const now = (text: string, of: Partial<FileNow> = {}): FileNow => ({ isThere: true, sha256: sha(text), ...of });
const nowhere: FileNow = { isThere: false };
const offered = (images: BeforeImage[], standing: FileNow, isKept = true) => {
  const changed = byFile(images).get("a");
  return changed === undefined ? undefined : fileOf("a", changed, standing, isKept);
};

test("a file is put back only over what the agent left, or with a word on whose changes go", () => {
  assert.deepEqual(offered([image({})], now("two")), { path: "a", how: "restore" });
  assert.equal(offered([image({})], now("one")), undefined, "it says already what it said");
  assert.deepEqual(offered([image({})], now("three")), { path: "a", how: "restore", others: "since" });
  assert.deepEqual(offered([image({})], now("two", { unsaved: sha("typed") })), { path: "a", how: "restore", others: "unsaved" });
  const { after: _, ...unfinished } = image({});
  assert.deepEqual(offered([unfinished], now("two")), { path: "a", how: "restore", others: "unknown" });
  const chain = [image({}), image({ content: sha("two"), after: sha("three") })];
  assert.deepEqual(offered(chain, now("three")), { path: "a", how: "restore" });
  const broken = [image({}), image({ content: sha("by hand"), after: sha("three") })];
  assert.deepEqual(offered(broken, now("three")), { path: "a", how: "restore", others: "between" });
  assert.deepEqual(offered([image({})], nowhere), { path: "a", how: "create" });
  assert.match(JSON.stringify(offered([image({})], now("two"), false)), /no longer kept/);
  const { content: __, ...large } = image({});
  assert.match(JSON.stringify(offered([large], now("two"), false)), /too large/);
  assert.deepEqual(
    offered([image({})], now("one", { unsaved: sha("typed") })),
    { path: "a", how: "restore", others: "unsaved" },
    "what is typed counts",
  );
  assert.deepEqual(offered([image({})], { isThere: false, unsaved: sha("typed") }), { path: "a", how: "create", others: "unsaved" });
});

test("what stands in the way is said, and is offered to nobody", () => {
  const folder: FileNow = { isThere: true, obstacle: "a folder now has its name" };
  assert.deepEqual(offered([image({})], folder), { what: "a", why: "a folder now has its name, so it is not restored" });
  const { content: _, ...made } = image({ isNew: true });
  assert.deepEqual(offered([made], folder, false), { what: "a", why: "a folder now has its name, so it is not deleted" });
  assert.equal(offered([image({})], now("one", { obstacle: "it is read-only" })), undefined, "it is as it was anyway");
});

test("a file that the agent made is deleted, and one that is gone is left alone", () => {
  const { content: _, ...made } = image({ isNew: true });
  assert.deepEqual(offered([made], now("two"), false), { path: "a", how: "delete" });
  assert.deepEqual(offered([made], now("more"), false), { path: "a", how: "delete", others: "since" });
  assert.equal(offered([made], nowhere, false), undefined);
});

test("calls from a message on, those that may have changed something else, and what they name", async () => {
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
  assert.deepEqual(
    calls.map(({ toolCallId, succeeded }) => [toolCallId, succeeded]),
    [
      ["c1", false],
      ["c2", false],
      ["c3", false],
      ["c4", true],
    ],
  );
  const unknown = unknownChanges(calls, (name) => name === "edit_file");
  assert.deepEqual(
    unknown.map(({ name }) => name),
    ["run_command", "replaceString"],
    "what only reads is not suspected",
  );
  const suspected = (name: string): boolean =>
    unknownChanges([{ ...call("t", "c"), name, given: {}, effects: [], succeeded: true }], () => false).length > 0;
  assert.ok(["find_and_replace", "widget_write", "target", "thread_delete"].every(suspected), "a word within a word is none");
  assert.ok(!["copilot_readFile", "getErrors", "list-files"].some(suspected));
  const sent: string[][] = [];
  const read: ReadEffects = (command, cwd) => {
    sent.push([command, cwd]);
    return Promise.resolve({
      effects: [
        { kind: "write", path: "/w/src/b.txt", certain: true },
        { kind: "delete", path: "/w/c.txt", certain: true },
        { kind: "delete", path: "/w/*.o", pattern: true, certain: true },
        { kind: "move", path: "/w/to", ifFolder: "/w/to/from", from: "/w/from", certain: false },
        { kind: "read", path: "/w/z.txt", certain: true },
      ],
      unknown: [
        { part: "make", reason: "program" },
        { part: "git clean -fd", reason: "worktree" },
      ],
      programs: [],
    });
  };
  const named = await Promise.all(unknown.map((call) => namedBy(call, "/w", read)));
  assert.deepEqual(
    sent.map(([, cwd]) => cwd),
    ["/w"],
  );
  assert.deepEqual(named[0], {
    gone: ["/w/c.txt", "/w/from"],
    others: ["/w/src/b.txt", "/w/to", "/w/to/from"],
    unclear: [
      { part: "/w/*.o", why: "deletes or moves files without naming them" },
      { part: "git clean -fd", why: "may delete or change files without naming them" },
    ],
  });
  assert.deepEqual(named[1]?.others, ["g.txt", "f.txt"]);
  const unread = await namedBy(
    { ...call("t", "c"), name: "run_command", given: { command: "rm a", folder: "x" }, effects: [], succeeded: true },
    "/w",
    () => Promise.resolve(undefined),
  );
  assert.deepEqual(unread.unclear, [{ part: "rm a", why: "its effects on files were not read" }]);
});

test("the card of a command says what it does to files", () => {
  const sentences = sentencesOf(
    {
      effects: [
        { kind: "read", path: "/w/a", certain: true },
        { kind: "delete", path: "/w/b", certain: true },
        { kind: "move", path: "/w/d", from: "/w/c", ifFolder: "/w/d/c", certain: false },
        { kind: "write", path: "/x/*.o", pattern: true, certain: true },
      ],
      unknown: [{ part: "make", reason: "program" }],
      programs: ["rm", "mv", "make"],
    },
    "/w",
  );
  assert.deepEqual(sentences, [
    "Deletes b",
    "Moves c to d or d/c, under a condition",
    "Writes /x/*.o (pattern)",
    '"make" may change files; which is not known',
  ]);
});

test("a card says once that a command was not read if the sidecar is down", async () => {
  const { promise, resolve } = deferred();
  const effects = new CommandEffects(() => Promise.reject(new Error("down")), resolve);
  assert.equal(effects.sentences("rm a", "/w"), undefined);
  await promise;
  const told = effects.sentences("rm a", "/w");
  assert.deepEqual(told, ["The effects of this command on files were not read. Check the whole command."]);
  assert.equal(effects.sentences("rm a", "/w"), told, "the same list, so that the row is the same");
});

function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve: () => void = () => {};
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

test("a command is said with the folder in which it ran", () => {
  const ran = (given: object) => commandOf({ ...call("t", "c"), name: "run_command", given: { ...given }, effects: [], succeeded: true });
  assert.equal(ran({ command: "make all", folder: "sub" }), "run_command: make all (in sub)");
  assert.equal(ran({ command: "make\nmake install", folder: "." }), "run_command: make…");
});

test("what is kept is the bytes, for this user alone", async () => {
  using store = images(10_000);
  const latin = Buffer.from("caf\xe9\r\nbar\n\0", "latin1");
  await store.kept.keep(call("s/t0", "c"), { path: "a", bytes: latin, mode: 0o755 });
  const [image] = await store.made().of([call("s/t0", "c")]);
  assert.deepEqual(Buffer.from((await store.made().bytesOf(image as BeforeImage)) ?? []), latin);
  assert.equal(image?.mode, 0o755);
  const modes = [store.home, ...readdirSync(store.home, { recursive: true, encoding: "utf8" }).map((name) => join(store.home, name))]
    .map((file) => statSync(file))
    .map((found) => [found.isDirectory(), found.mode & 0o777]);
  assert.deepEqual(modes, [
    [true, 0o700],
    [true, 0o700],
    [false, 0o600],
    [false, 0o600],
  ]);
});

test("the same content may be kept many times at the same moment", async () => {
  using store = images(10_000);
  // Two of one process, as an old window and a new one have while it is loaded again.
  const two = [store.made(), store.made()];
  const names = Array.from({ length: 40 }, (_, at) => call("s/t0", `c${at}`));
  await Promise.all(names.map((name, at) => two[at % 2]?.keep(name, { path: `${at}`, bytes: bytes("alike") })));
  const kept = await store.kept.of(names);
  assert.equal(kept.length, 40);
  for (const image of kept) assert.equal(plain(await store.kept.bytesOf(image)), "alike");
  assert.equal(texts(store.home).length, 1);
});

test("changes are told in the order in which they happened, also where calls ran side by side", async () => {
  using store = images(10_000);
  const [one, two] = [call("s/t0", "c1"), call("s/t0", "c2")];
  await store.kept.keep(two, { path: "a", bytes: bytes("first") });
  await store.kept.changed(two, "a", sha("second"));
  await store.kept.keep(one, { path: "a", bytes: bytes("second") });
  await store.kept.changed(one, "a", sha("third"));
  const found = byFile(await store.kept.of([one, two])).get("a");
  assert.deepEqual([found?.first.content, found?.last.after, found?.isUnbroken], [sha("first"), sha("third"), true]);
  // A branch has the turns of the session that it began from under their names, and its own after them.
  const own = call("branch/t1", "c1");
  await store.kept.keep(own, { path: "a", bytes: bytes("third") });
  await store.kept.changed(own, "a", sha("fourth"));
  const all = byFile(await store.kept.of([one, two, own])).get("a");
  assert.deepEqual([all?.first.content, all?.last.after, all?.isUnbroken], [sha("first"), sha("fourth"), true]);
});
