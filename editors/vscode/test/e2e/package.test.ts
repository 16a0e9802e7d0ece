// The package as a user gets it: it works where there is neither Rust nor this repository nor a program on the PATH, with
// the program that it brings; without that one, with the PATH's. A package for another platform takes that platform's
// program and no other.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { Editor, until } from "../support/editor.ts";
import { Panel } from "../support/panel.ts";

const repository = resolve("../..");

test("installed without Rust and without the repository, the panel answers with the program of the package", async () => {
  const extra = mkdtempSync(join(tmpdir(), "threadhold-path-"));
  await using editor = await Editor.start({
    extensions: ["dist/threadhold.vsix"],
    files: { "a.txt": "hello\n" },
    settings: { "threadhold.configuredModel": { wire: "scripted" } },
    // The editor takes its environment from the user's shell.
    before: async ({ root }) => writeFileSync(join(root, ".profile"), `PATH=/usr/bin:/bin:${extra}\n`),
  });
  assert.ok(!editor.folder.startsWith(repository) && !editor.root.startsWith(repository));
  const running = (): string => readlinkSync(`/proc/${editor.sidecars()[0]}/exe`);
  const panel = await Panel.open(editor);
  await panel.ask("Are you there?");
  await panel.frame.locator(".row.answer").first().waitFor();
  await editor.shoot("package-1-answers");
  const path = /(?:^|\0)PATH=([^\0]*)/.exec(readFileSync(`/proc/${editor.sidecars()[0]}/environ`, "utf8"))?.[1]?.split(":") ?? [];
  assert.ok(path.includes(extra));
  for (const program of ["cargo", "rustc", "threadhold"]) {
    assert.ok(path.every((folder) => !existsSync(join(folder, program))), `${program} must not be found, or nothing is shown here`);
  }
  const extensions = join(editor.root, "extensions");
  const installed = join(extensions, readdirSync(extensions).find((name) => name.startsWith("threadhold.threadhold-")) ?? "");
  const bundled = join(installed, "bin/threadhold");
  assert.equal(running(), bundled);
  assert.deepEqual(readFileSync(bundled), readFileSync(process.env["THREADHOLD_BIN"] ?? ""), "it is the one that was packed");

  // What a user is owed beside the program.
  const licence = readFileSync(join(installed, "LICENSE.txt"), "utf8");
  assert.ok(["MIT", "APACHE"].every((name) => licence.includes(readFileSync(join(repository, `LICENSE-${name}`), "utf8").trim())));
  const notices = readFileSync(join(installed, "ThirdPartyNotices.txt"), "utf8");
  for (const name of ["vscode-jsonrpc 1", "markdown-it 1", "tokio 1", "rusqlite 0", "ring 0"]) assert.ok(notices.includes(`\n${name}`), `${name} is named`);
  assert.ok(!notices.includes("proptest"), "what is only tested with is not in the package");

  const pictures = [...readFileSync(join(installed, "readme.md"), "utf8").matchAll(/\]\((media\/readme\/[^)]+)\)/g)].map(([, path = ""]) => path);
  assert.ok(pictures.length >= 4 && pictures.every((path) => existsSync(join(installed, path))), "the page's pictures are beside it");

  // Without it, the one on the PATH; without that one too, a sentence that says what to do.
  copyFileSync(bundled, join(extra, "threadhold"));
  renameSync(bundled, `${bundled}.away`);
  await editor.command("threadhold: Restart the Sidecar");
  await until(() => editor.sidecars().length === 1 && running() === join(extra, "threadhold"), "the program of the PATH runs");
  rmSync(extra, { recursive: true });
  await editor.command("threadhold: Restart the Sidecar");
  const notice = panel.frame.locator(".notices .notice.error");
  await notice.getByText("The program threadhold was not found").waitFor();
  assert.match((await notice.textContent()) ?? "", /bin\/threadhold, threadhold does not exist and is not in PATH\. Install threadhold, or name its path/);
  renameSync(`${bundled}.away`, bundled);
  await notice.getByRole("button", { name: "Try again" }).click();
  await notice.waitFor({ state: "detached" });
  assert.equal(running(), bundled);
});

test("a package for another platform takes its program, and no other one", () => {
  const folder = mkdtempSync(join(tmpdir(), "threadhold-binaries-"));
  const make = (...args: string[]) =>
    spawnSync(process.execPath, ["packaging/package.mjs", ...args], { encoding: "utf8", env: { ...process.env, THREADHOLD_BINARIES: folder } });
  const missing = make("--target", "linux-arm64");
  assert.equal(missing.status, 1);
  assert.match(missing.stderr, /no program for linux-arm64.*cargo build --release --target aarch64-unknown-linux-gnu.*THREADHOLD_BINARIES/s);
  assert.match(make("--target", "beos-ppc").stderr, /no package for beos-ppc.*linux-x64, .*win32-arm64/);
  const own = process.env["THREADHOLD_BIN"] ?? "";
  assert.match(make("--target", "darwin-arm64", "--binary", own).stderr, /is no program for darwin-arm64/);
  assert.match(make("--target", "alpine-x64", "--binary", own).stderr, /needs glibc/);
  // As much of a program as says what it is for.
  const program = Buffer.alloc(64);
  program.writeUInt32BE(0x7f454c46, 0);
  program.writeUInt16LE(0xb7, 18);
  mkdirSync(join(folder, "aarch64-unknown-linux-gnu"));
  writeFileSync(join(folder, "aarch64-unknown-linux-gnu/threadhold"), program);
  const made = make("--target", "linux-arm64");
  assert.equal(made.status, 0, made.stderr);
  assert.match(made.stdout, /kB {2}dist\/threadhold-linux-arm64\.vsix\nlinux-arm64, with /);
  assert.deepEqual(readFileSync("dist/stage/bin/threadhold"), program);
  assert.ok((statSync("dist/stage/bin/threadhold").mode & 0o111) !== 0, "it may be run");
  assert.ok(statSync("dist/threadhold-linux-arm64.vsix").size > 0);
  rmSync(folder, { recursive: true });
});
