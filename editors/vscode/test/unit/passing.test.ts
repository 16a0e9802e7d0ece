// Failures of an editor's model after which it is asked again.

import assert from "node:assert/strict";
import { test } from "node:test";
import { passing } from "../../src/models/passing.ts";

test("the words of a failure tell whether it passes", () => {
  for (const [words, before, after] of [
    ["net::ERR_CONNECTION_RESET", "network", "network"],
    ["read ECONNRESET", "network", "network"],
    ["getaddrinfo EAI_AGAIN api.example", "network", "network"],
    ["TypeError: fetch failed", "network", "network"],
    ["Server error: 503", "overloaded", "overloaded"],
    ["Overloaded", "overloaded", "overloaded"],
    ["Request failed: 429 Too Many Requests", "rateLimited", "rateLimited"],
    ["Something went wrong", undefined, "network"],
    ["The quota is used up (429)", undefined, undefined],
    ["You have exhausted your premium model allowance", undefined, undefined],
    ["Response got filtered.", undefined, undefined],
    ["401 Unauthorized", undefined, undefined],
  ] as const) {
    assert.deepEqual([passing(words, false), passing(words, true)], [before, after], words);
  }
});
