// The head of a prompt's file: its description, and the text behind it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { frontMatter } from "../../src/mentions/front-matter.ts";

test("a head between dashes is not of the text", () => {
  assert.deepEqual(frontMatter('---\nmode: agent\ndescription: "Reviews: all"\n---\n\nReview it.\n---\nAll of it.\n'), {
    description: "Reviews: all",
    body: "Review it.\n---\nAll of it.",
  });
  assert.deepEqual(frontMatter("---\r\ndescription: Short\r\n---\r\nText"), { description: "Short", body: "Text" });
  assert.deepEqual(frontMatter("---\ndescription:\n---\nText"), { body: "Text" });
  for (const text of ["No head.", "---\nnever ends", "Text\n---\ndescription: no\n---\nmore", ""])
    assert.deepEqual(frontMatter(text), { body: text });
});
