// Files that fill a prompt, and finding a text in files.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Answer } from "../extension/src/script.ts";

/** A file of about this many tokens. */
export function long(name: string, tokens: number): string {
  const lines = [`// ${name}`];
  for (let line = 0; lines.length * 14 < tokens; line += 1)
    lines.push(`fn ${name}_${line}(input: &str) -> Option<Token> { scan(input, ${line}) }`);
  return `${lines.join("\n")}\n`;
}

/** A call of the scripted editor's tool that reads one. */
export const read = (id: string, path: string) => ({ id, name: "probe_read", input: { path } });

/** Four files of which three fill a window of 20,000 tokens. */
export const FOUR = Object.fromEntries(["one", "two", "three", "four"].map((name) => [`${name}.rs`, long(name, 4_000)]));

/** Answers of two turns that read them: the first reads one, the second the others, and its prompt overflows. */
export const READING: readonly Answer[] = [
  { say: "I look first.", calls: [read("c1", "one.rs")] },
  { say: "One is read." },
  { say: "Two.", calls: [read("c2", "two.rs")] },
  { say: "Three.", calls: [read("c3", "three.rs")] },
  { say: "Four.", calls: [read("c4", "four.rs")] },
  { say: "All four are read." },
];

/** The files under a folder that hold a text, in any of their bytes. */
export function filesWith(text: string, folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((path) => {
      try {
        return readFileSync(path).includes(text);
      } catch (error) {
        // It went away meanwhile.
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
        throw error;
      }
    });
}
