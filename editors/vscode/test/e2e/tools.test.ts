// The extension's own tools as a model uses them: what they find and do not find in a folder with a repository in it, what
// they answer, and what they refuse.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { Editor } from "../support/editor.ts";
import { Panel } from "../support/panel.ts";
import { Probe } from "../support/probe.ts";
import { PACKAGES, SCRIPTED } from "../support/settings.ts";

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
          // Two pieces of one character, apart.
          call("run", "run_command", { command: "printf '\\303'; sleep 0.3; printf '\\244\\n'" }),
        ],
      },
      { say: "I have seen it." },
    ],
  });
  await using editor = await Editor.start({
    extensions: PACKAGES,
    files: {
      "src/main.rs": "// needle\nfn main() {}\n// end\n",
      "src/lib.rs": "fn help() {}\n",
      "node_modules/a/index.js": "needle\n",
      "target/out.txt": "needle\n",
      ".gitignore": "target/\n",
    },
    settings: { ...SCRIPTED, "threadhold.approve.run": "allow" },
    environment: { PROBE: probe.folder },
  });
  execFileSync("git", ["init", "--quiet"], { cwd: editor.folder });
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
    all: ".gitignore\nsrc/lib.rs\nsrc/main.rs",
    some: "src/lib.rs\nsrc/main.rs",
    words: "src/main.rs:1: // needle",
    shape: "src/lib.rs:1: fn help() {}\nsrc/main.rs:2: fn main() {}",
    lines: "fn main() {}\n// end",
    outside: "../secret is outside of the folder that is open.",
    missing: "There is no file src/none.rs.",
    run: "ä\n",
  });
});
