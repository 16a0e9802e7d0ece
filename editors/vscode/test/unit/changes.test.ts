// The agent's changes as data: hunks and what becomes of both texts when one is kept or undone, which changes still wait,
// and that both are known after a restart. No editor is needed.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import {
  countsOf,
  type Hunk,
  hunkAtBaseLine,
  hunkAtLine,
  hunksOf,
  linesOf,
  nearest,
  undoneText,
  withKept,
} from "../../src/changes/hunks.ts";
import { identityOf, isKept, itemOf, pendingIn, summaryOf } from "../../src/changes/review.ts";
import { type BeforeImage, BeforeImages, hashOf } from "../../src/rewind/before-images.ts";

const sha = (text: string): string => hashOf(Buffer.from(text));
const places = (hunks: readonly Hunk[]) => hunks.map(({ id: _, ...place }) => place);
const place = (baseFrom: number, baseCount: number, nowFrom: number, nowCount: number) => ({ baseFrom, baseCount, nowFrom, nowCount });

/** The current text once a hunk is undone. */
function undone(base: string, now: string, hunk: Hunk | undefined): string {
  assert.ok(hunk);
  const lines = linesOf(now);
  lines.splice(hunk.nowFrom, hunk.nowCount, undoneText(base, hunk));
  return lines.join("");
}

const BASE = "one\ntwo\nthree\nfour\nfive\n";
const NOW = "uno\ntwo\nthree\nfive\nsix\n";

test("hunks are runs of lines with their places in both texts", () => {
  assert.deepEqual(places(hunksOf(BASE, NOW)), [place(0, 1, 0, 1), place(3, 1, 3, 0), place(5, 0, 4, 1)]);
  assert.deepEqual(countsOf(hunksOf(BASE, NOW)), { added: 2, removed: 2 });
  assert.deepEqual(hunksOf(BASE, BASE), []);
  assert.deepEqual(places(hunksOf("", "a\nb\n")), [place(0, 0, 0, 2)]);
  assert.deepEqual(places(hunksOf("a\nb\n", "")), [place(0, 2, 0, 0)]);
  assert.deepEqual(hunksOf("a\r\nb\rc\n", "a\nb\nc\n"), [], "ends of lines alone are no hunk");
  assert.deepEqual(places(hunksOf("a", "a\n")), [place(0, 1, 0, 1)], "a last line without an end is another line");
});

test("undoing one hunk leaves the others", () => {
  const [first, second, third] = hunksOf(BASE, NOW);
  assert.equal(undone(BASE, NOW, first), "one\ntwo\nthree\nfive\nsix\n");
  assert.equal(undone(BASE, NOW, second), "uno\ntwo\nthree\nfour\nfive\nsix\n");
  assert.equal(undone(BASE, NOW, third), "uno\ntwo\nthree\nfive\n");
  assert.equal(undone("a", "a\nb\n", hunksOf("a", "a\nb\n")[0]), "a");
});

test("keeping hunks one after the other ends at the current text", () => {
  for (const order of [0, 1, -1]) {
    let base = BASE;
    for (let left = 3; left > 0; left -= 1) {
      const hunks = hunksOf(base, NOW);
      assert.equal(hunks.length, left);
      base = withKept(base, NOW, hunks.at(order) ?? (hunks[0] as Hunk));
    }
    assert.equal(base, NOW);
  }
  const mixed = "a\r\nb\nc\r\n";
  const [hunk] = hunksOf(mixed, "a\nb\nnew\n");
  assert.equal(withKept(mixed, "a\nb\nnew\n", hunk as Hunk), "a\r\nb\nnew\n", "the other lines keep their ends");
});

test("a hunk is found again by its texts, nearest to where it was", () => {
  const hunks = hunksOf("a\nb\nc\n", "x\na\nb\nx\nc\n");
  assert.deepEqual(places(hunks), [place(0, 0, 0, 1), place(2, 0, 3, 1)]);
  const [one, other] = hunks;
  assert.equal(one?.id, other?.id);
  assert.equal(nearest(hunks, one?.id ?? "", 2), other);
  assert.equal(nearest(hunks, one?.id ?? "", 1), one);
  assert.equal(nearest(hunksOf("a\n", "y\na\n"), one?.id ?? "", 0), undefined, "another text is another hunk");
});

test("the cursor finds the hunk on its line, also where lines were deleted", () => {
  const hunks = hunksOf(BASE, NOW);
  assert.deepEqual(
    [0, 1, 2, 3, 4, 5].map((line) => hunks.indexOf(hunkAtLine(hunks, line) as Hunk)),
    [0, -1, 1, 1, 2, -1],
  );
  assert.deepEqual(
    [0, 1, 2, 3, 4, 5].map((line) => hunks.indexOf(hunkAtBaseLine(hunks, line) as Hunk)),
    [0, -1, -1, 1, 2, 2],
    "also by the lines of the baseline",
  );
});

test("texts that differ wholly are one hunk, and take no time that grows with their square", () => {
  const text = (word: string): string => Array.from({ length: 6_000 }, (_, at) => `${word} ${at}\n`).join("");
  assert.deepEqual(places(hunksOf(text("old"), text("new"))), [place(0, 6_000, 0, 6_000)]);
});

const image = (toolCallId: string, of: Partial<BeforeImage> = {}): BeforeImage => ({
  turnId: "s/t0",
  toolCallId,
  path: "a.txt",
  isNew: false,
  content: sha("one"),
  after: sha("two"),
  ...of,
});
const now = (text: string) => ({ isThere: true, sha256: sha(text) });

test("what was kept waits no more, and later changes begin from before the first of them", () => {
  const kept = image("c1", { settled: true });
  const later = image("c2", { content: sha("two, by hand"), after: sha("three") });
  assert.ok(isKept([kept]));
  assert.equal(pendingIn([kept], now("two")), undefined);
  const pending = pendingIn([kept, later], now("three"));
  assert.deepEqual(pending?.images, [later]);
  assert.equal(pending?.changed.first.content, sha("two, by hand"));
  const both = pendingIn([image("c1"), later], now("three"));
  assert.deepEqual([both?.changed.first.content, both?.changed.isUnbroken], [sha("one"), false]);
});

test("what was undone waits again once the file is as it was before that", () => {
  const gone = image("c1", { settled: identityOf(now("two")) });
  assert.ok(!isKept([gone]));
  assert.equal(pendingIn([gone], now("one")), undefined);
  assert.equal(pendingIn([gone], now("one, then by hand")), undefined, "what the user writes later is theirs");
  assert.deepEqual(pendingIn([gone], now("two"))?.images, [gone]);
  assert.deepEqual(pendingIn([gone], { ...now("one"), unsaved: sha("two") })?.images, [gone], "also by the editor's own undo");
});

test("a baseline with kept hunks holds for the changes that it was made of", () => {
  const first = image("c1", { baseline: sha("half") });
  assert.equal(pendingIn([first], now("two"))?.changed.first.content, sha("half"));
  const later = image("c2", { content: sha("two"), after: sha("three") });
  assert.equal(pendingIn([first, later], now("three"))?.changed.first.content, sha("half"));
  assert.equal(pendingIn([{ ...first, settled: true }, later], now("three"))?.changed.first.content, sha("two"));
});

test("the list says what became of each file and whose changes an undo would lose", () => {
  const { content: _, ...made } = image("c1", { isNew: true });
  const changed = (of: BeforeImage) => ({ first: of, last: of, isUnbroken: true });
  const hunks = hunksOf("one\n", "one\ntwo\n");
  const edited = itemOf("a", changed(image("c1")), now("two"), hunks, { path: "a", how: "restore", others: "since" });
  assert.deepEqual(edited, { path: "a", kind: "edited", added: 1, removed: 0, others: "since" });
  const created = itemOf("b", changed(made), now("two"), hunks, { path: "b", how: "delete" });
  assert.deepEqual(created, { path: "b", kind: "created", added: 1, removed: 0 });
  const deleted = itemOf("c", changed(image("c1")), { isThere: false }, undefined, {
    what: "c",
    why: "it is read-only, so it is not restored",
  });
  assert.deepEqual(deleted, { path: "c", kind: "deleted", lost: "it is read-only" });
  assert.deepEqual(summaryOf([edited, created, deleted]), { files: 3, added: 2, removed: 0, items: [edited, created, deleted] });
  assert.equal(summaryOf([]), undefined);
  const many = summaryOf(Array.from({ length: 300 }, () => edited));
  assert.deepEqual([many?.files, many?.added, many?.items.length], [300, 300, 200]);
});

test("what was kept and undone is known after a restart, and a session's own calls only", async () => {
  const home = mkdtempSync(join(tmpdir(), "threadhold-changes-"));
  using _ = { [Symbol.dispose]: () => rmSync(home, { recursive: true, force: true }) };
  const images = new BeforeImages(home, () => 10_000);
  let noted = 0;
  images.onChange = () => (noted += 1);
  const name = (session: string, toolCallId: string) => ({ turnId: `${session}/t0`, toolCallId });
  const keep = async (session: string, call: string, path: string): Promise<void> => {
    await images.keep(name(session, call), { path, bytes: Buffer.from(`${path} before`) });
    await images.changed(name(session, call), path, sha(`${path} after`));
  };
  await keep("s", "c1", "a.txt");
  await keep("s", "c1", "b.txt");
  await keep("s", "c2", "c.txt");
  await keep("other", "c1", "d.txt");
  assert.equal(noted, 8);
  const [a, b, c] = await images.ofSession("s");
  await images.settle([a as BeforeImage], true);
  // What is noted last holds.
  await images.settle([b as BeforeImage], true);
  await images.settle([b as BeforeImage], "hash");
  await images.rebase(c as BeforeImage, Buffer.from("c.txt in a smaller part"));
  await images.rebase(c as BeforeImage, Buffer.from("c.txt in part"));
  assert.equal(noted, 13);
  const again = new BeforeImages(home, () => 10_000);
  const found = await again.ofSession("s");
  assert.deepEqual(found, [
    { ...a, settled: true },
    { ...b, settled: "hash" },
    { ...c, baseline: sha("c.txt in part") },
  ]);
  const part = await again.bytesOf({ ...(found[2] as BeforeImage), content: sha("c.txt in part") });
  assert.equal(Buffer.from(part ?? []).toString(), "c.txt in part");
  assert.deepEqual(Buffer.from((await again.bytesOf(found[2] as BeforeImage)) ?? []).toString(), "c.txt before", "a rewind still has it");
});
