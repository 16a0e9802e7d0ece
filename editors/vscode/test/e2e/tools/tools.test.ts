// The extension's own tools as a model uses them: what they find and do not find in a folder with a repository in it, what
// they answer, and what they refuse.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, lstatSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Editor } from "../../support/editor.ts";
import { Panel } from "../../support/panel.ts";
import { Probe } from "../../support/probe.ts";
import { PACKAGES, SCRIPTED } from "../../support/settings.ts";

test("files are listed, searched, read; a command prints", async () => {
  const call = (id: string, name: string, input: object) => ({ id, name, input });
  using probe = new Probe({
    window: 64_000,
    answers: [
      {
        say: "I look.",
        calls: [
          call("all", "list_files", {}),
          call("some", "list_files", { pattern: "src/*.rs" }),
          call("words", "search_text", { query: "needle" }),
          call("shape", "search_text", { query: "^fn \\w+", isRegex: true, include: "**/*.rs" }),
          call("lines", "read_file", { path: "src/main.rs", startLine: 2, endLine: 3 }),
          call("outside", "read_file", { path: "../secret" }),
          call("missing", "read_file", { path: "src/none.rs" }),
          call("latin", "read_file", { path: "latin.txt" }),
          call("lines of Windows", "edit_file", { path: "windows.txt", old: "one\ntwo", new: "one\n2" }),
          call("other letters", "edit_file", { path: "latin.txt", old: "end", new: "END" }),
          call("wide", "read_file", { path: "wide.txt" }),
          call("by another name", "edit_file", { path: "alias.txt", old: "linked", new: "changed" }),
          call("protected", "write_file", { path: "locked.txt", text: "open" }),
          call("of a folder", "write_file", { path: "src", text: "no folder" }),
          call("through a link", "write_file", { path: "link.txt", text: "out" }),
          call("of git", "write_file", { path: ".git/hooks/pre-commit", text: "#!/bin/sh" }),
          call("of git, by a link", "write_file", { path: "tags/v1", text: "none" }),
          // Two pieces of one character, apart.
          call("run", "run_command", { command: "printf '\\303'; sleep 0.3; printf '\\244\\n'" }),
        ],
      },
      { say: "I have seen it." },
    ],
  });
  await using editor = await Editor.start({
    extensions: PACKAGES,
    shared: true,
    files: {
      "src/main.rs": "// needle\nfn main() {}\n// end\n",
      "src/lib.rs": "fn help() {}\n",
      "node_modules/a/index.js": "needle\n",
      "target/out.txt": "needle\n",
      ".gitignore": "target/\n",
      "windows.txt": "one\r\ntwo\r\nthree\r\n",
    },
    settings: { ...SCRIPTED, "threadhold.approve.run": "allow", "threadhold.approve.edit": "allow" },
    environment: { PROBE: probe.folder },
    before: async ({ folder, root }) => {
      execFileSync("git", ["init", "--quiet"], { cwd: folder });
      writeFileSync(join(folder, "latin.txt"), Buffer.from("caf\xe9 end\n", "latin1"));
      writeFileSync(join(folder, "wide.txt"), Buffer.from("\uFEFFgrün\n", "utf16le"));
      writeFileSync(join(folder, "locked.txt"), "locked\n", { mode: 0o444 });
      writeFileSync(join(folder, "src/linked.txt"), "linked\n");
      symlinkSync(".git/refs/tags", join(folder, "tags"));
      symlinkSync("src/linked.txt", join(folder, "alias.txt"));
      writeFileSync(join(root, "secret.txt"), "needle\n");
      symlinkSync(join(root, "secret.txt"), join(folder, "secret.txt"));
      symlinkSync(join(root, "new.txt"), join(folder, "link.txt"));
    },
  });
  const panel = await Panel.open(editor);
  await panel.ask("What is there?");
  await panel.answer("I have seen it.").waitFor();
  await editor.shoot("tools-1-looked");
  const results = new Map(
    (probe.asked.at(-1)?.messages ?? []).flatMap(({ parts }) =>
      parts.flatMap((part) => {
        const { result, content } = part as { result?: string; content?: { text: string }[] };
        return result === undefined ? [] : [[result, content?.map(({ text }) => text).join("")] as const];
      }),
    ),
  );
  assert.deepEqual(Object.fromEntries(results), {
    all: ".gitignore\nalias.txt\nlatin.txt\nlocked.txt\nsecret.txt\nsrc/lib.rs\nsrc/linked.txt\nsrc/main.rs\nwide.txt\nwindows.txt",
    some: "src/lib.rs\nsrc/main.rs",
    words: "src/main.rs:1: // needle",
    shape: "src/lib.rs:1: fn help() {}\nsrc/main.rs:2: fn main() {}",
    lines: "fn main() {}\n// end",
    outside: "../secret is outside the open folder",
    missing: "file src/none.rs does not exist",
    latin: "caf\uFFFD end\n",
    "lines of Windows": "Changed windows.txt.",
    "other letters":
      "latin.txt is not in the encoding that the editor assumes, so an edit would lose characters; set files.encoding for it, or change it with a command",
    wide: "grün\n",
    "by another name": "Changed alias.txt.",
    protected: "locked.txt is read-only",
    "of a folder": "src is not a file",
    "through a link": "link.txt is outside the open folder",
    "of git": ".git/hooks/pre-commit belongs to git; change it with git commands",
    "of git, by a link": "tags/v1 belongs to git; change it with git commands",
    run: "ä\n",
  });
  assert.equal(editor.read("windows.txt"), "one\r\n2\r\nthree\r\n");
  assert.deepEqual(readFileSync(join(editor.folder, "latin.txt")), Buffer.from("caf\xe9 end\n", "latin1"));
  assert.equal(editor.read("src/linked.txt"), "changed\n");
  assert.ok(lstatSync(join(editor.folder, "alias.txt")).isSymbolicLink());
  assert.ok(!existsSync(join(editor.root, "new.txt")), "nothing is written outside");
});
