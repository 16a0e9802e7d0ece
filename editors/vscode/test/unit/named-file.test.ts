// The file that a block of code names, and whether the block is all of it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { kindOfBlock } from "../../src/changes/block.ts";
import { namedFile } from "../../src/shared/named-file.ts";

test("a file is named behind the fence or in the line before it", () => {
  const cases: [info: string, before: string, path: string | undefined][] = [
    ["ts src/a.ts", "", "src/a.ts"],
    ['ts title="src/a.ts"', "", "src/a.ts"],
    ["js {file=lib/b.js}", "", "lib/b.js"],
    ["ts:src/a.ts", "", "src/a.ts"],
    ["12:20:src/a.ts", "", "src/a.ts"],
    ["src/a.ts", "", "src/a.ts"],
    ["Makefile", "", "Makefile"],
    ["ts src/a.ts", "In `src/other.ts`:", "src/a.ts"],
    ["ts", "In `src/a.ts`, replace `old` by this:", "src/a.ts"],
    ["ts", "**src/a.ts**:", "src/a.ts"],
    ["ts", "### `./src/a.ts:12`", "src/a.ts"],
    ["", "File: .github/workflows/ci.yml", ".github/workflows/ci.yml"],
    ["ts", "Then write this:", undefined],
    ["ts", "See https://example.com/a.ts", undefined],
    ["c++", "", undefined],
    ["objective-c", "", undefined],
    ["ts linenums", "Use `let` and version 1.2:", undefined],
  ];
  assert.deepEqual(
    cases.map(([info, before]) => [info, before, namedFile(info, before)]),
    cases,
  );
});

test("a block is a whole file by how much of the file it has", () => {
  const file = Array.from({ length: 20 }, (_, at) => `line ${at}\n`).join("");
  const cases: [block: string, text: string, kind: string][] = [
    ["new\n", "", "whole"],
    [file.replace("line 3\n", "other\n"), file, "whole"],
    [file.replace("line 3\n", "// ... existing code ...\n"), file, "part"],
    [`# rest of the file\n${file}`, file, "part"],
    ["one\ntwo\n", file, "part"],
    [file.replaceAll("line", "row"), file, "unclear"],
    [file.slice(0, file.indexOf("line 9")), file, "unclear"],
  ];
  assert.deepEqual(
    cases.map(([block, text]) => [block, text, kindOfBlock(block, text)]),
    cases,
  );
});
