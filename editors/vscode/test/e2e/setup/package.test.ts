// The package as a user gets it: it works where there is neither Rust nor this repository nor a program on the PATH, with
// the program that it brings; without that one, with the PATH's. A package for another platform takes that platform's
// program and no other.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { Editor, until } from "../../support/editor.ts";
import { cannotHide } from "../../support/hidden.ts";
import { Panel } from "../../support/panel.ts";

const repository = resolve("../..");

const own = process.env["THREADHOLD_BIN"] ?? "";
const { CARGO_HOME = join(homedir(), ".cargo"), RUSTUP_HOME = join(homedir(), ".rustup"), CARGO_TARGET_DIR } = process.env;
/** Paths that a user's machine does not have, the repository with its target folder among them. */
const HIDDEN = [
  repository,
  CARGO_HOME,
  RUSTUP_HOME,
  ...(CARGO_TARGET_DIR === undefined ? [] : [resolve(repository, CARGO_TARGET_DIR)]),
  resolve(own),
];

test("installed without Rust and without the repository, the panel answers with the program of the package", async (t) => {
  const extra = mkdtempSync(join(tmpdir(), "threadhold-path-"));
  const why = cannotHide();
  if (why !== undefined) {
    assert.ok(!process.env["CI"], `under CI the repository must be hidden from the editor: ${why}`);
    t.diagnostic(`The repository and Rust are not hidden from the editor, only not used: ${why}`);
  }
  const installedIn = (root: string): string => {
    const extensions = join(root, "extensions");
    return join(extensions, readdirSync(extensions).find((name) => name.startsWith("threadhold.threadhold-")) ?? "");
  };
  await using editor = await Editor.start({
    extensions: ["dist/threadhold.vsix"],
    files: { "a.txt": "hello\n" },
    settings: { "threadhold.configuredModel": { wire: "scripted" } },
    ...(why === undefined && { hidden: HIDDEN }),
    before: async ({ root }) => {
      // The editor takes its environment from the user's shell.
      writeFileSync(join(root, ".profile"), `PATH=/usr/bin:/bin:${extra}\n`);
      // As some of what unpacks a package leaves it.
      const bundled = join(installedIn(root), "bin/threadhold");
      assert.ok((statSync(bundled).mode & 0o111) !== 0, "the package says that it may be run");
      chmodSync(bundled, 0o644);
    },
  });
  assert.ok(!editor.folder.startsWith(repository) && !editor.root.startsWith(repository));
  /** The program of the one sidecar; nothing while there is none. */
  const running = (): string | undefined => {
    const [sidecar, ...others] = editor.sidecars();
    const exe = `/proc/${sidecar}/exe`;
    // It may end between the two looks.
    return others.length > 0 || !existsSync(exe) ? undefined : readlinkSync(exe);
  };
  const panel = await Panel.open(editor);
  await panel.ask("Are you there?");
  await panel.frame.locator(".row.answer").first().waitFor();
  await editor.shoot("package-1-answers");
  /** A path as the sidecar, and whatever else the editor started, sees it. */
  const seen = (path: string): string => `/proc/${editor.sidecars()[0]}/root${path}`;
  if (why === undefined) {
    for (const path of HIDDEN.filter((path) => existsSync(seen(path)))) {
      const stat = statSync(seen(path));
      assert.ok(stat.isDirectory() ? readdirSync(seen(path)).length === 0 : !stat.isFile(), `${path} is hidden`);
    }
  }
  const path = /(?:^|\0)PATH=([^\0]*)/.exec(readFileSync(`/proc/${editor.sidecars()[0]}/environ`, "utf8"))?.[1]?.split(":") ?? [];
  assert.ok(path.includes(extra));
  for (const program of ["cargo", "rustc", "threadhold"]) {
    assert.ok(
      path.every((folder) => !existsSync(seen(join(folder, program)))),
      `${program} must not be found, or nothing is shown here`,
    );
  }
  const installed = installedIn(editor.root);
  const bundled = join(installed, "bin/threadhold");
  assert.equal(running(), bundled);
  assert.deepEqual(readFileSync(bundled), readFileSync(own), "it is the one that was packed");

  // What a user is owed beside the program.
  const licence = readFileSync(join(installed, "LICENSE.txt"), "utf8");
  assert.ok(["MIT", "APACHE"].every((name) => licence.includes(readFileSync(join(repository, `LICENSE-${name}`), "utf8").trim())));
  const notices = readFileSync(join(installed, "ThirdPartyNotices.txt"), "utf8");
  for (const name of ["vscode-jsonrpc 1", "markdown-it 1", "mermaid 11", "tokio 1", "rusqlite 0", "ring 0", "The vocabulary o200k_base"])
    assert.ok(notices.includes(`\n${name}`), `${name} is named`);
  assert.ok(!notices.includes("proptest"), "what is only tested with is not in the package");

  // What lists of extensions show.
  const { icon } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8")) as { icon: string };
  const png = readFileSync(join(installed, icon));
  assert.deepEqual([png.toString("latin1", 1, 4), png.readUInt32BE(16), png.readUInt32BE(20)], ["PNG", 128, 128]);
  const pictures = [...readFileSync(join(installed, "readme.md"), "utf8").matchAll(/\]\((media\/readme\/[^)]+)\)/g)].map(
    ([, path = ""]) => path,
  );
  assert.ok(pictures.length >= 4 && pictures.every((path) => existsSync(join(installed, path))), "the page's pictures are beside it");

  // Without it, the one on the PATH; without that one too, a sentence that says what to do.
  copyFileSync(bundled, join(extra, "threadhold"));
  renameSync(bundled, `${bundled}.away`);
  await editor.command("threadhold: Restart Sidecar");
  await until(() => running() === join(extra, "threadhold"), "the program of the PATH runs");
  rmSync(extra, { recursive: true });
  await editor.command("threadhold: Restart Sidecar");
  const notice = await panel.error("The threadhold program was not found");
  assert.match(
    (await notice.textContent()) ?? "",
    /bin\/threadhold, threadhold does not exist and is not in PATH\. Install threadhold, or set its path/,
  );
  renameSync(`${bundled}.away`, bundled);
  await notice.getByRole("button", { name: "Try Again" }).click();
  await notice.waitFor({ state: "detached" });
  await until(() => running() === bundled, "the program of the package runs again");
});

/** Packs, with programs of other platforms from a folder. */
function pack(folder: string, ...args: string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, ["packaging/package.mjs", ...args], {
    encoding: "utf8",
    env: { ...process.env, THREADHOLD_BINARIES: folder },
  });
}

/** As much of a program as says what it is for, with a text in it. */
function elf(machine: number, text = ""): Buffer {
  const program = Buffer.alloc(64);
  program.writeUInt32BE(0x7f454c46, 0);
  program.writeUInt16LE(machine, 18);
  return Buffer.concat([program, Buffer.from(text)]);
}

test("a package for another platform takes its program, and no other one", () => {
  const folder = mkdtempSync(join(tmpdir(), "threadhold-binaries-"));
  const make = (...args: string[]) => pack(folder, ...args);
  const missing = make("--target", "linux-arm64");
  assert.equal(missing.status, 1);
  assert.match(
    missing.stderr,
    /no program for linux-arm64.*cargo build --release --target aarch64-unknown-linux-gnu.*THREADHOLD_BINARIES/s,
  );
  assert.match(make("--target", "beos-ppc").stderr, /no package for beos-ppc.*linux-x64, .*win32-arm64/);
  assert.match(make("--target", "darwin-arm64", "--binary", own).stderr, /is no program for darwin-arm64/);
  assert.match(make("--target", "alpine-x64", "--binary", own).stderr, /needs glibc/);
  assert.match(make("--target", "win32-arm64").stderr, /aarch64-pc-windows-msvc\/threadhold\.exe/, "on Windows a program has an ending");
  const pe = Buffer.alloc(70);
  pe.writeUInt16LE(0x5a4d, 0);
  pe.writeUInt32LE(64, 0x3c);
  pe.writeUInt32BE(0x50450000, 64);
  pe.writeUInt16LE(0x8664, 68);
  mkdirSync(join(folder, "x86_64-pc-windows-msvc"));
  writeFileSync(join(folder, "x86_64-pc-windows-msvc/threadhold.exe"), pe);
  // Whether the licences of that platform's crates are on disk is another thing.
  assert.doesNotMatch(make("--target", "win32-x64").stderr, /no program for/);
  writeFileSync(join(folder, "empty"), "");
  assert.match(make("--target", "win32-x64", "--binary", join(folder, "empty")).stderr, /is no program for win32-x64/);
  const program = elf(0xb7);
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

test("a program that asks for a newer glibc than the editor is packed for machines like this one only", () => {
  const folder = mkdtempSync(join(tmpdir(), "threadhold-glibc-"));
  const make = (target: string, asks: string) => {
    writeFileSync(join(folder, "program"), elf(target.endsWith("arm64") ? 0xb7 : 0x3e, `GLIBC_2.4\0GLIBC_${asks}\0GLIBC_2.17\0`));
    return pack(folder, "--target", target, "--binary", join(folder, "program"));
  };
  for (const [target, triple] of [
    ["linux-x64", "x86_64-unknown-linux-gnu"],
    ["linux-arm64", "aarch64-unknown-linux-gnu"],
  ] as const) {
    const { status, stderr } = make(target, "2.29");
    assert.equal(status, 1);
    assert.ok(stderr.includes(`needs glibc 2.29, and ${target} is promised from glibc 2.28 on`), stderr);
    assert.ok(stderr.includes(`cargo zigbuild --release --target ${triple}.2.28\``) && stderr.includes("without --target"), stderr);
  }
  const floor = make("linux-arm64", "2.28");
  assert.equal(floor.status, 0, floor.stderr);
  assert.match(floor.stdout, /needs glibc 2\.28; terms of/);
  // The one that the other tests run, and not another: what is packed here is what they install.
  const here = pack(folder, "--binary", own);
  assert.equal(here.status, 0, here.stderr);
  const [, asked, only] = /, which needs glibc 2\.(\d+)(: it may not start on other machines)?; terms of/.exec(here.stdout) ?? [];
  assert.equal(only !== undefined, Number(asked) > 28, here.stdout);
  rmSync(folder, { recursive: true });
});

test("a package that is taken in without known terms is refused", () => {
  const folder = mkdtempSync(join(tmpdir(), "threadhold-terms-"));
  const list = (manifest: object, files: Record<string, string> = {}) => {
    const home = join(folder, "node_modules/@some/part");
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(home, { recursive: true });
    writeFileSync(join(home, "package.json"), JSON.stringify({ name: "@some/part", version: "1.2.3", ...manifest }));
    for (const [name, text] of Object.entries(files)) writeFileSync(join(home, name), text);
    const asked = { inputs: [join(home, "lib/index.js")], repository, triple: "x86_64-unknown-linux-gnu" };
    const script = `import { notices } from "./packaging/notices.mjs"; process.stdout.write(notices(${JSON.stringify(asked)}).text)`;
    return spawnSync(process.execPath, ["--input-type=module", "--eval", script], { encoding: "utf8", maxBuffer: 16_000_000 });
  };
  const brought = list({ license: "Strange-1.0" }, { "LICENSE.md": "Strange terms." });
  assert.match(brought.stdout, /\n@some\/part 1\.2\.3 \(npm, Strange-1\.0\)\n\nStrange terms\.\n/);
  const apache = list({ license: "MIT OR Apache-2.0" });
  // Other packages with the same terms may be named with it.
  assert.match(apache.stdout, /@some\/part 1\.2\.3 \(npm, MIT OR Apache-2\.0\)\n(?:\S.*\n)*\n\s*Apache License\s+Version 2\.0/);
  const mit = list({ license: "MIT", author: { name: "Ada Example" } });
  assert.match(
    mit.stdout,
    /@some\/part 1\.2\.3 \(npm, MIT\)\n\nMIT License\n\nCopyright \(c\) Ada Example\n\nPermission is hereby granted/,
  );
  const strange = list({ license: "Strange-1.0" }, { LICENSE: "\n" });
  assert.match(
    strange.stderr,
    /The terms of @some\/part 1\.2\.3 \(npm\) are not known: .*the licence that it names, Strange-1\.0, are not known here/,
  );
  assert.match(list({}).stderr, /The terms of @some\/part 1\.2\.3 \(npm\) are not known: .*names no licence\./);
  rmSync(folder, { recursive: true });
});
