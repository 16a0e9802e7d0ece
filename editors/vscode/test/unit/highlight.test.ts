// Colours of code: by the grammars and the theme that are installed, in pieces that go on where the one before ended.

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Contributions, type Manifest } from "../../src/highlight/contributions.ts";
import { Highlighter } from "../../src/highlight/highlighter.ts";
import type { ThemeRule } from "../../src/highlight/theme.ts";

/** A language with comments over several lines, and one that includes it. */
const FILES = {
  "lang.json": {
    scopeName: "source.lang",
    patterns: [
      { begin: "/\\*", end: "\\*/", name: "comment.block" },
      { match: "\\b(let|if)\\b", name: "keyword.control" },
      // No engine of regular expressions in JavaScript takes this; the rest of the grammar holds without it.
      { match: "(?<a>x(?<=y+))", name: "keyword.other" },
    ],
  },
  "outer.json": { scopeName: "text.outer", patterns: [{ include: "source.lang" }] },
  "dark.json": {
    include: "./base.json",
    colors: { "editor.foreground": "#cccccc" },
    tokenColors: [{ scope: "keyword", settings: { foreground: "#0000ff", fontStyle: "bold" } }],
  },
  "base.json": { tokenColors: [{ scope: ["comment", "string"], settings: { foreground: "#00ff00", fontStyle: "italic" } }] },
};

function installed(): { manifests: Manifest[]; folder: string } & Disposable {
  const folder = mkdtempSync(join(tmpdir(), "threadhold-grammars-"));
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(folder, name), JSON.stringify(text));
  const manifest: Manifest = {
    folder,
    languages: [
      { id: "lang", aliases: ["Lang Script", "ls"], extensions: [".lng"] },
      { id: "ls" },
      { id: "outer", extensions: [".ls", ".out"] },
    ],
    grammars: [
      { language: "lang", scopeName: "source.lang", path: "./lang.json" },
      { language: "outer", scopeName: "text.outer", path: "./outer.json" },
    ],
    themes: [
      { id: "Dark Modern", label: "%dark%", uiTheme: "vs-dark", path: "./dark.json" },
      { id: "Dark+", uiTheme: "vs-dark", path: "./base.json" },
      { label: "Mine", uiTheme: "vs", path: "./base.json" },
    ],
  };
  return { manifests: [manifest], folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true }) };
}

function highlighter(manifests: Manifest[], rules: ThemeRule[] = []): Highlighter {
  const contributions = new Contributions(manifests);
  return new Highlighter({
    contributions: () => contributions,
    theme: () => ({ file: contributions.themeFile("Dark Modern", "vs-dark"), rules }),
  });
}

const COMMENT = { color: "#00FF00", italic: true };
const KEYWORD = { color: "#0000FF", bold: true };

test("code has the colours of the theme and of those that it includes", async () => {
  using it = installed();
  const colors = await highlighter(it.manifests).colors({ block: "1", language: "out", at: 0, text: "let a /* b */\nif\n" });
  assert.deepEqual(colors, {
    runs: [3, 0, 3, -1, 8, 1, 3, 0],
    styles: [KEYWORD, COMMENT],
  });
});

test("the user's own colours come after those of the theme", async () => {
  using it = installed();
  const own = [{ scope: "keyword.control", settings: { foreground: "#ff0000" } }];
  const colors = await highlighter(it.manifests, own).colors({ block: "1", language: "lang", at: 0, text: "let" });
  assert.deepEqual(colors, { runs: [3, 0], styles: [{ color: "#FF0000", bold: true }] });
});

test("a piece goes on where the one before ended", async () => {
  using it = installed();
  const made = highlighter(it.manifests);
  const lines = ["/* a\n", "let b\n", "c */ if\n"];
  const whole = await made.colors({ block: "whole", language: "lang", at: 0, text: lines.join("") });
  let at = 0;
  const runs: [number, unknown][] = [];
  for (const text of lines) {
    const colors = await made.colors({ block: "pieces", language: "lang", at, text });
    assert.ok(colors !== undefined);
    for (let run = 0; run < colors.runs.length; run += 2) runs.push([colors.runs[run] ?? 0, colors.styles[colors.runs[run + 1] ?? -1]]);
    at += text.length;
  }
  assert.deepEqual(runs, [
    [5, COMMENT],
    [6, COMMENT],
    [4, COMMENT],
    [1, undefined],
    [3, KEYWORD],
  ]);
  assert.deepEqual(whole, { runs: [15, 0, 1, -1, 3, 1], styles: [COMMENT, KEYWORD] });
});

test("a piece whose beginning is not known has no colours", async () => {
  using it = installed();
  const made = highlighter(it.manifests);
  await made.colors({ block: "1", language: "lang", at: 0, text: "let\n" });
  assert.equal(await made.colors({ block: "1", language: "lang", at: 3, text: "let\n" }), undefined, "another place");
  assert.equal(await made.colors({ block: "2", language: "lang", at: 4, text: "let\n" }), undefined, "another block");
  assert.ok((await made.colors({ block: "1", language: "lang", at: 4, text: "let\n" })) !== undefined);
  made.forget();
  assert.equal(await made.colors({ block: "1", language: "lang", at: 8, text: "let\n" }), undefined, "another theme");
  assert.equal(await made.colors({ block: "1", language: "unknown", at: 0, text: "let\n" }), undefined, "another language");
});

test("a line that is very long stays plain, and the ones behind it do not", async () => {
  using it = installed();
  const long = `${"let ".repeat(1_000)}\n`;
  const colors = await highlighter(it.manifests).colors({ block: "1", language: "lang", at: 0, text: `${long}let\n` });
  assert.deepEqual(colors, { runs: [long.length, -1, 4, 0], styles: [KEYWORD] });
});

test("a language is known by its id before other languages' aliases and extensions", () => {
  using it = installed();
  const known = new Contributions(it.manifests);
  const ids = ["LANG", "lang script", "lng", "ls", "out", "txt"].map((name) => known.language(name)?.id);
  // The language `ls` itself has no grammar.
  assert.deepEqual(ids, ["lang", "lang", "lang", "lang", "outer", undefined]);
});

test("a theme is found by its name, else one of its kind", () => {
  using it = installed();
  const known = new Contributions(it.manifests);
  const [dark, base] = [join(it.folder, "dark.json"), join(it.folder, "base.json")];
  assert.equal(known.themeFile("Dark Modern", "vs-dark"), dark);
  assert.equal(known.themeFile("Default Dark+", "vs-dark"), base, "as earlier editors call it");
  assert.equal(known.themeFile("Mine", "vs"), base);
  assert.equal(known.themeFile("Not Here", "vs-dark"), dark);
  assert.equal(known.themeFile("Dark Modern", "vs"), base, "another kind is in use");
  assert.equal(known.themeFile("Not Here", "hc-black"), undefined);
});
