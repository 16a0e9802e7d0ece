// Tools that look: a file, a folder, words in files. They change nothing and leave the folder's own limits to inFolder.

import * as vscode from "vscode";
import { visibleFiles } from "./files.ts";
import { inFolder, maybeCount, maybeText, read, text, type OwnTool } from "./own.ts";

const MOST_MATCHES = 200;
/** Characters of a file that is shown whole; no window of a model takes more. */
const MOST_CHARACTERS = 2_000_000;
const MOST_FILES = 2_000;
/** Larger files are not searched: they are seldom written by hand. */
const MOST_BYTES = 1_000_000;

const readFile: OwnTool = {
  name: "read_file",
  description: "Shows a text file of the folder, whole or some of its lines, with what is not saved yet.",
  kind: "read",
  group: "read",
  inputSchema: {
    type: "object",
    properties: {
      path: { type: "string", description: "The file, from the folder on." },
      startLine: { type: "integer", minimum: 1, description: "The first line to show." },
      endLine: { type: "integer", minimum: 1, description: "The last line to show." },
    },
    required: ["path"],
  },
  async run(given, folder) {
    const { uri, path } = await inFolder(text(given, "path"), folder);
    const said = await read(uri);
    if (said === undefined) throw new Error(`There is no file ${path}.`);
    const from = maybeCount(given, "startLine");
    const to = maybeCount(given, "endLine");
    if (from !== undefined || to !== undefined) return { content: said.split("\n").slice((from ?? 1) - 1, to).join("\n") };
    if (said.length <= MOST_CHARACTERS) return { content: said };
    throw new Error(`${path} has ${said.length} characters in ${said.split("\n").length} lines, more than can be shown at once. Ask for some of its lines.`);
  },
};

const listFiles: OwnTool = {
  name: "list_files",
  description: "Lists files of the folder by a pattern; what the settings hide and what git ignores is left out.",
  kind: "search",
  group: "read",
  inputSchema: {
    type: "object",
    properties: { pattern: { type: "string", description: "Such as src/**/*.ts; all files where it is missing." } },
  },
  async run(given, folder, signal) {
    const found = await visibleFiles(folder, maybeText(given, "pattern") ?? "**/*", signal);
    if (found.length === 0) return { content: "No file is like that." };
    const more = found.length > MOST_FILES ? `\n… and ${found.length - MOST_FILES} more; ask for a narrower pattern.` : "";
    return { content: found.slice(0, MOST_FILES).map(({ path }) => path).join("\n") + more };
  },
};

const searchText: OwnTool = {
  name: "search_text",
  description: "Finds lines in the files of the folder, by words or by a regular expression.",
  kind: "search",
  group: "read",
  inputSchema: {
    type: "object",
    properties: {
      query: { type: "string", description: "The words, or the expression." },
      isRegex: { type: "boolean", description: "Whether it is a regular expression. Default: false." },
      include: { type: "string", description: "Which files, such as **/*.rs. Default: all." },
    },
    required: ["query"],
  },
  async run(given, folder, signal) {
    const query = text(given, "query");
    if (query === "") throw new Error("The query is empty.");
    const expression = given["isRegex"] === true ? new RegExp(query) : undefined;
    const isMatch = (line: string): boolean => expression?.test(line) ?? line.includes(query);
    const files = await visibleFiles(folder, maybeText(given, "include") ?? "**/*", signal);
    const lines: string[] = [];
    for (const { path, uri } of files) {
      signal.throwIfAborted();
      const { size } = await vscode.workspace.fs.stat(uri);
      if (size > MOST_BYTES) continue;
      const said = await read(uri).catch(() => undefined);
      for (const [at, line] of (said ?? "").split("\n").entries()) {
        if (isMatch(line)) lines.push(`${path}:${at + 1}: ${line.slice(0, 400)}`);
        if (lines.length >= MOST_MATCHES) return { content: `${lines.join("\n")}\n… and more; ask for something narrower.` };
      }
    }
    return { content: lines.length === 0 ? "Nothing was found." : lines.join("\n") };
  },
};

export const READ_TOOLS: readonly OwnTool[] = [readFile, listFiles, searchText];
