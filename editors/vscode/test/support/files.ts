// Files that fill a prompt, and finding a text in files.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** A file of about this many tokens. */
export function long(name: string, tokens: number): string {
  const lines = [`// ${name}`];
  for (let line = 0; lines.length * 14 < tokens; line += 1) lines.push(`fn ${name}_${line}(input: &str) -> Option<Token> { scan(input, ${line}) }`);
  return `${lines.join("\n")}\n`;
}

/** A call of the scripted editor's tool that reads one. */
export const read = (id: string, path: string) => ({ id, name: "probe_read", input: { path } });

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
