// Tools that look: a file, a folder, words in files. They change nothing and leave the folder's own limits to inFolder.

import * as vscode from "vscode";
import { Matcher } from "./matcher.ts";
import { inFolder, maybeCount, maybeText, type OwnTool, read, text } from "./own-tool.ts";
import { visibleFiles } from "./visible-files.ts";

const MOST_MATCHES = 200;
/** Characters of a file that is shown whole; no window of a model takes more. */
const MOST_CHARACTERS = 2_000_000;
const MOST_FILES = 2_000;
/** Larger files are not searched: they are seldom written by hand. */
const MOST_BYTES = 1_000_000;

const readFile: OwnTool = {
  name: "read_file",
  description: "Reads a text file of the workspace, including unsaved changes. `startLine` and `endLine` limit it to some lines.",
  kind: "read",
  group: "read",
  inputSchema: {
    type: "object",
    properties: {
      path: { type: "string", description: "File path, relative to the workspace folder." },
      startLine: { type: "integer", minimum: 1, description: "First line to read, counted from 1." },
      endLine: { type: "integer", minimum: 1, description: "Last line to read, inclusive." },
    },
    required: ["path"],
  },
  async run(given, folder) {
    const { uri, path } = await inFolder(text(given, "path"), folder);
    const said = await read(uri);
    if (said === undefined) throw new Error(`file ${path} does not exist`);
    const from = maybeCount(given, "startLine");
    const to = maybeCount(given, "endLine");
    if (from !== undefined || to !== undefined)
      return {
        content: said
          .split("\n")
          .slice((from ?? 1) - 1, to)
          .join("\n"),
      };
    if (said.length <= MOST_CHARACTERS) return { content: said };
    throw new Error(
      `${path} has ${said.length} characters in ${said.split("\n").length} lines, more than can be shown at once; set startLine and endLine`,
    );
  },
};

const listFiles: OwnTool = {
  name: "list_files",
  description: "Lists workspace files that match a glob pattern. Leaves out files that the settings hide or git ignores.",
  kind: "search",
  group: "read",
  inputSchema: {
    type: "object",
    properties: { pattern: { type: "string", description: "Glob pattern, such as src/**/*.ts. Default: all files." } },
  },
  async run(given, folder, signal) {
    const found = await visibleFiles(folder, maybeText(given, "pattern") ?? "**/*", signal);
    if (found.length === 0) return { content: "No files match." };
    const more = found.length > MOST_FILES ? `\n… and ${found.length - MOST_FILES} more; use a narrower pattern.` : "";
    return {
      content:
        found
          .slice(0, MOST_FILES)
          .map(({ path }) => path)
          .join("\n") + more,
    };
  },
};

const searchText: OwnTool = {
  name: "search_text",
  description: "Searches the files of the workspace for a text or a regular expression. Returns matching lines with path and line number.",
  kind: "search",
  group: "read",
  inputSchema: {
    type: "object",
    properties: {
      query: { type: "string", description: "Text or regular expression to find." },
      isRegex: { type: "boolean", description: "Treat `query` as a regular expression. Default: false." },
      include: { type: "string", description: "Glob pattern of the files to search, such as **/*.rs. Default: all files." },
    },
    required: ["query"],
  },
  async run(given, folder, signal) {
    const query = text(given, "query");
    if (query === "") throw new Error("query must not be empty");
    await using matcher = given["isRegex"] === true ? new Matcher(query, signal) : undefined;
    const files = await visibleFiles(folder, maybeText(given, "include") ?? "**/*", signal);
    const lines: string[] = [];
    for (const { path, uri } of files) {
      signal.throwIfAborted();
      const said = (await searched(path, uri, folder)).split("\n");
      const found = matcher === undefined ? said.flatMap((line, at) => (line.includes(query) ? [at] : [])) : await matcher.find(said);
      for (const at of found) {
        lines.push(`${path}:${at + 1}: ${(said[at] ?? "").slice(0, 400)}`);
        if (lines.length >= MOST_MATCHES) return { content: `${lines.join("\n")}\n… and more; use a narrower query.` };
      }
    }
    return { content: lines.length === 0 ? "No matches." : lines.join("\n") };
  },
};

/** Text to search; empty if the file is too large, gone, not text, or outside the folder. */
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
