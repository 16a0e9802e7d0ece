// Versions of messages: where revisions differ from the session, in which order they were made, and which row shows them.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Message, Revision, RevisionCause } from "@threadhold/client";
import { Versions } from "../../src/session/versions.ts";

/** Messages by their ids, such as `u0 a1`: of the user or an answer, in turns that a user's message begins. */
function messages(ids: string): Message[] {
  let turnId = "t";
  return ids.split(" ").map((id, ord) => {
    if (id.startsWith("u")) turnId = `t ${id}`;
    return {
      id,
      ord,
      rev: 0,
      turnId,
      role: id.startsWith("u") ? "user" : "assistant",
      parts: id.startsWith("c") ? [{ type: "toolCall", id: "c", name: "read", arguments: "{}" }] : [{ type: "text", text: id }],
      tokens: 1,
      // The number behind the place says when it was made.
      createdAt: `2026-01-01T00:00:0${id.split(".")[1] ?? 0}Z`,
    };
  });
}

/** Finds the versions of a session among its revisions, the newest first, and counts what is read. */
function found(revisions: { [id: string]: string }, causes: { [id: string]: RevisionCause } = {}) {
  let reads = 0;
  const versions = new Versions({
    revisions: async () =>
      Object.keys(revisions).map(
        (revisionId): Revision => ({ revisionId, cause: causes[revisionId] ?? "retry", createdAt: "", messages: 0 }),
      ),
    messageAt: async (id, ord) => {
      reads += 1;
      return messages(revisions[id] ?? "").findLast((message) => message.ord <= ord);
    },
  });
  const find = async (current: string, hasEarlier = false) => {
    await versions.find(messages(current), hasEarlier);
    return Object.fromEntries(versions.of);
  };
  return { versions, find, reads: () => reads };
}

test("answers to one request are counted in the order in which they were given", async () => {
  const { find } = found({ r2: "u0 a1 u2 a3.2", r1: "u0 a1 u2 a3.1" });
  assert.deepEqual(await find("u0 a1 u2 a3.3"), { "a3.3": { at: 3, count: 3, previous: "r2" } });
  // One that was restored is where it was; what stood before is a revision.
  const restored = found({ r3: "u0 a1 u2 a3.3", r2: "u0 a1 u2 a3.2", r1: "u0 a1 u2 a3.1" }, { r3: "restore" });
  assert.deepEqual(await restored.find("u0 a1 u2 a3.2"), { "a3.2": { at: 2, count: 3, previous: "r1", next: "r3" } });
});

test("a request that was edited has its versions at itself", async () => {
  const { find } = found({ r1: "u0 a1 u2 a3" }, { r1: "edit" });
  assert.deepEqual(await find("u0 a1 u2.1 a3.1"), { "u2.1": { at: 2, count: 2, previous: "r1" } });
});

test("each place has its own versions, and of one version the newest revision", async () => {
  const { find } = found({ r3: "u0.1 a1.1 u2.2", r2: "u0.1 a1.1 u2.1 a3.1", r1: "u0 a1" });
  assert.deepEqual(await find("u0.1 a1.1 u2.3"), {
    "u0.1": { at: 2, count: 2, previous: "r1" },
    "u2.3": { at: 3, count: 3, previous: "r3" },
  });
  const twice = found({ newer: "u0 a1 u2.5", older: "u0 a1" });
  assert.deepEqual(await twice.find("u0 a1.2"), { "a1.2": { at: 2, count: 2, previous: "newer" } });
});

test("versions of a turn stand at its last answer", async () => {
  const { find } = found({ r1: "u0 c1 a2" });
  assert.deepEqual(await find("u0 c1.1 a2.1 c3.1 a4.1 c5.1 u6.1 a7.1"), { "a4.1": { at: 2, count: 2, previous: "r1" } });
});

test("what is only shorter, a new chat, or not loaded has no versions", async () => {
  assert.deepEqual(await found({ r1: "u0 a1 u2" }, { r1: "truncate" }).find("u0 a1"), {});
  assert.deepEqual(await found({ r1: "u0 a1" }).find("u0 a1 u2"), {});
  assert.deepEqual(await found({ r1: "u0 a1" }, { r1: "reset" }).find("u0.1 a1.1"), {});
  assert.deepEqual(await found({ r1: "u0 a1" }).find("u0.1 a1.1", true), {});
});

test("what is known of a revision is not read again, and what is the same is the same object", async () => {
  const { find, versions, reads } = found({ r1: "u0 a1" });
  await find("u0 a1.1");
  const [before, first] = [reads(), versions.of.get("a1.1")];
  await find("u0 a1.1");
  assert.equal(reads(), before);
  await find("u0 a1.1 u2.1 a3.1");
  assert.equal(versions.of.get("a1.1"), first);
  assert.ok(reads() - before <= 2, `${reads() - before} more`);
});
