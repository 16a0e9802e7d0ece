// Tools that look: a file, a folder, words in files. They change nothing and leave the folder's own limits to inFolder.

import * as vscode from "vscode";
import { visibleFiles } from "./files.ts";
import { Matcher } from "./matcher.ts";
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
    await using matcher = given["isRegex"] === true ? new Matcher(query, signal) : undefined;
    const files = await visibleFiles(folder, maybeText(given, "include") ?? "**/*", signal);
    const lines: string[] = [];
    for (const { path, uri } of files) {
      signal.throwIfAborted();
      const said = (await searched(path, uri, folder)).split("\n");
      const found = matcher === undefined ? said.flatMap((line, at) => (line.includes(query) ? [at] : [])) : await matcher.find(said);
      for (const at of found) {
        lines.push(`${path}:${at + 1}: ${(said[at] ?? "").slice(0, 400)}`);
        if (lines.length >= MOST_MATCHES) return { content: `${lines.join("\n")}\n… and more; ask for something narrower.` };
      }
    }
    return { content: lines.length === 0 ? "Nothing was found." : lines.join("\n") };
  },
};

/** What a file says that is searched; nothing of what is too large, gone, no text, or a way out of the folder. */
async function searched(path: string, uri: vscode.Uri, folder: vscode.Uri): Promise<string> {
  try {
    await inFolder(path, folder);
    const { size } = await vscode.workspace.fs.stat(uri);
    return size > MOST_BYTES ? "" : ((await read(uri)) ?? "");
  } catch {
    return "";
  }
}

export const READ_TOOLS: readonly OwnTool[] = [readFile, listFiles, searchText];
