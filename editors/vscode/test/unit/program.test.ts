// The program of the package where it has an ending: what backend.ts asks for, on Windows.

import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { emptyFolder } from "./support/window.ts";

test("on Windows, threadhold.exe of the package is found by the name without its ending", async () => {
  Object.defineProperty(process, "platform", { value: "win32" });
  const { findProgram } = await import("@threadhold/client/node");
  const own = join(emptyFolder(), "bin/threadhold");
  mkdirSync(join(own, ".."));
  writeFileSync(`${own}.exe`, "", { mode: 0o755 });
  assert.equal(findProgram({ command: [own, "threadhold"], env: { PATH: "" } }), `${own}.exe`);
});
