// The sidecar that the tests run, and folders of theirs. What is asked of it is the tests'.

import { accessSync, constants, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { fileURLToPath } from "node:url";

/** The built program: `THREADHOLD_BIN`, else where cargo puts it. */
export const BINARY = process.env["THREADHOLD_BIN"] ?? fromPackage("../../target/debug/threadhold");

// No settings of whoever runs the tests, in files or in the environment, where every such variable is one.
for (const name of Object.keys(process.env)) if (name.startsWith("THREADHOLD_")) delete process.env[name];
process.env["THREADHOLD_CONFIG"] = "";

try {
  accessSync(BINARY, constants.X_OK);
} catch {
  throw new Error(
    `these tests run the real sidecar, and ${BINARY} is not there: build it with \`cargo build\`, or name it in THREADHOLD_BIN`,
  );
}

/** A path from the folder of the package, wherever the tests were compiled to. */
export function fromPackage(path: string): string {
  return fileURLToPath(new URL(`../../../${path}`, import.meta.url));
}

/** A folder that is empty, and gone after the tests. */
export function emptyFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "threadhold-client-"));
  after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** How long anything may take before a test fails, in milliseconds. A machine may be busy; nothing is timed. */
export const PATIENCE_MS = 60_000;

/** Waits for something that must come. */
export async function within<Value>(what: string, value: Promise<Value>): Promise<Value> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} did not come within ${PATIENCE_MS} ms`)), PATIENCE_MS);
  });
  try {
    return await Promise.race([value, late]);
  } finally {
    clearTimeout(timer);
  }
}
