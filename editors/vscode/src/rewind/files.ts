// Files of the folder as a rewind meets them: how they stand now, putting texts back by an edit of the workspace, and
// which of them changed since some time. Which are restored is plan.ts's and the user's.

import { readFile, stat } from "node:fs/promises";
import { isAbsolute, join, relative } from "node:path";
import * as vscode from "vscode";
import { hashOf } from "./before-images.ts";
import type { FileNow } from "./plan.ts";

/** A file and what is to be in it; gone where that is nothing. */
export interface Wanted {
  path: string;
  content: Uint8Array | undefined;
}

/** Files that are looked at for changes. */
const MOST_FILES = 5_000;
/** What programs make and nobody misses, where the settings do not hide it anyway. */
const MADE = ["**/.git/**", "**/node_modules/**", "**/target/**", "**/dist/**", "**/build/**", "**/out/**", "**/__pycache__/**"];

export function uriOf(path: string, folder: vscode.Uri): vscode.Uri {
  return vscode.Uri.file(isAbsolute(path) ? path : join(folder.fsPath, path));
}

/** How a file stands, beside what it said before. */
export async function standingOf(path: string, folder: vscode.Uri, before: string | undefined): Promise<FileNow> {
  const uri = uriOf(path, folder);
  const bytes = await readFile(uri.fsPath).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" || error.code === "EISDIR") return undefined;
    throw error;
  });
  if (bytes === undefined) return { isThere: false, isUnsaved: false, isAsBefore: false };
  const open = openDocument(uri);
  const isUnsaved = open?.isDirty ?? false;
  const said = open?.getText() ?? bytes.toString("utf8");
  return { isThere: true, sha256: hashOf(bytes), isUnsaved, isAsBefore: said === before };
}

/** What is in a file now, with what is not saved; undefined where there is none. */
export async function contentOf(path: string, folder: vscode.Uri): Promise<Uint8Array | undefined> {
  const uri = uriOf(path, folder);
  if ((await timeOf(uri.fsPath)) === undefined) return undefined;
  const open = openDocument(uri);
  return open === undefined ? readFile(uri.fsPath) : Buffer.from(open.getText(), "utf8");
}

/** Puts all of this into the files by one edit of the workspace, and saves them. */
export async function write(files: readonly Wanted[], folder: vscode.Uri): Promise<void> {
  const edit = new vscode.WorkspaceEdit();
  for (const { path, content } of files) {
    const uri = uriOf(path, folder);
    const open = openDocument(uri);
    if (content === undefined) edit.deleteFile(uri, { ignoreIfNotExists: true });
    else if (open === undefined || (await timeOf(uri.fsPath)) === undefined) edit.createFile(uri, { contents: content, overwrite: true });
    // What an editor shows can be undone there too.
    else edit.replace(uri, new vscode.Range(open.positionAt(0), open.positionAt(open.getText().length)), Buffer.from(content).toString("utf8"));
  }
  if (!(await vscode.workspace.applyEdit(edit))) throw new Error("The editor did not put the files back; they are as they were.");
  const unsaved: string[] = [];
  for (const { path, content } of files) {
    const document = content === undefined ? undefined : openDocument(uriOf(path, folder));
    if (document?.isDirty === true && !(await document.save())) unsaved.push(path);
  }
  if (unsaved.length > 0) throw new Error(`Restored, and not saved: ${unsaved.join(", ")}. Look at them in the editor, and save them there.`);
}

/** Files of the folder that were written since a time, except those that programs make. */
export async function writtenSince(since: number, folder: vscode.Uri): Promise<string[]> {
  const hidden = ["files.exclude", "search.exclude"].flatMap((name) => {
    const patterns = vscode.workspace.getConfiguration().get<{ [pattern: string]: unknown }>(name, {});
    return Object.entries(patterns).flatMap(([pattern, is]) => (is === true ? [pattern] : []));
  });
  const found = await vscode.workspace.findFiles(new vscode.RelativePattern(folder, "**/*"), `{${[...MADE, ...hidden].join(",")}}`, MOST_FILES);
  const written = await Promise.all(found.map(async ({ fsPath }) => ((await timeOf(fsPath)) ?? 0) >= since ? [relative(folder.fsPath, fsPath)] : []));
  return written.flat().sort();
}

/** When a file was written last; undefined where there is none. */
export async function timeOf(fsPath: string): Promise<number | undefined> {
  return stat(fsPath).then((found) => (found.isFile() ? found.mtimeMs : undefined), () => undefined);
}

function openDocument(uri: vscode.Uri): vscode.TextDocument | undefined {
  return vscode.workspace.textDocuments.find((document) => document.uri.toString() === uri.toString());
}
