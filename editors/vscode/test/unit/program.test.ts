// The program of the package where it has an ending: what backend.ts asks for, on Windows.

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

test("on Windows, threadhold.exe of the package is found by the name without its ending", async () => {
  Object.defineProperty(process, "platform", { value: "win32" });
  // Which system it is on is asked when it is loaded.
  const { findProgram } = await import("@threadhold/client/node");
  const folder = mkdtempSync(join(tmpdir(), "threadhold-program-"));
  const own = join(folder, "bin/threadhold");
  mkdirSync(join(own, ".."));
  writeFileSync(`${own}.exe`, "", { mode: 0o755 });
  assert.equal(findProgram({ command: [own, "threadhold"], env: { PATH: "" } }), `${own}.exe`);
  rmSync(folder, { recursive: true });
});
