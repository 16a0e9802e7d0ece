// Files of the folder during a rewind: their current state, restoring their earlier contents, and which changed since then.

import { access, chmod, constants, lstat, mkdir, readFile, realpath, stat, writeFile } from "node:fs/promises";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import * as vscode from "vscode";
import { errorText } from "../shared/text.ts";
import type { RewindLost } from "../shared/view.ts";
import { realOf } from "../tools/own-tool.ts";
import { openDocument, putBytes, replace, says, serialized } from "../tools/text-file.ts";
import { hashOf } from "./before-images.ts";
import { type FileNow, isSame } from "./plan.ts";

/** Contents of a file; without `content` if there is none. */
export interface Held {
  path: string;
  content?: Uint8Array;
  mode?: number;
  /** Unsaved text in the editor. */
  unsaved?: string;
}

/** A file and what is to be in it, if it still stands as the user was told. */
export interface Wanted extends Held {
  now: FileNow;
}

/** The outcome of restoring files. */
export interface Outcome {
  /** Contents that were overwritten, to undo the restore. */
  before: Wanted[];
  failed: RewindLost[];
}

/** Files that are looked at for changes. */
const MOST_FILES = 20_000;
/** Generated files, which are not worth listing. */
const MADE = ["**/.git/**", "**/node_modules/**", "**/target/**", "**/dist/**", "**/build/**", "**/out/**", "**/__pycache__/**"];

export function uriOf(path: string, folder: vscode.Uri): vscode.Uri {
  return vscode.Uri.file(isAbsolute(path) ? path : join(folder.fsPath, path));
}

/** A path that somebody named, from the folder on where it is in it. */
export function pathOf(named: string, folder: vscode.Uri): string {
  const wanted = resolve(folder.fsPath, named);
  const inside = relative(folder.fsPath, wanted);
  return isOutside(inside) ? wanted : inside;
}

/** How a file stands. */
export async function standingOf(path: string, folder: vscode.Uri): Promise<FileNow> {
  const { fsPath } = uriOf(path, folder);
  const open = openDocument(uriOf(path, folder));
  const dirty = open?.isDirty === true ? open : undefined;
  const unsaved = dirty === undefined ? {} : { unsaved: hashOf(Buffer.from(dirty.getText())) };
  const place = await placeOf(path, folder);
  if (place !== undefined) return { isThere: true, obstacle: place, ...unsaved };
  const found = await lstat(fsPath).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (found === undefined) return { isThere: false, ...unsaved };
  if (!found.isFile())
    return { isThere: true, obstacle: `${found.isDirectory() ? "a folder" : "something that is not a file"} now has its name` };
  const bytes = await readFile(fsPath).catch((error: unknown) => `it cannot be read: ${errorText(error)}`);
  if (typeof bytes === "string") return { isThere: true, obstacle: bytes, ...unsaved };
  const mayWrite =
    (found.mode & 0o222) !== 0 &&
    (await access(fsPath, constants.W_OK).then(
      () => true,
      () => false,
    ));
  // What is not saved and says what the disk says is nothing that could be lost.
  const isOther =
    dirty !== undefined &&
    !says(
      dirty,
      await vscode.workspace.decode(bytes, { encoding: dirty.encoding }).then(
        (said) => said,
        () => "",
      ),
    );
  return { isThere: true, sha256: hashOf(bytes), ...(isOther && unsaved), ...(!mayWrite && { obstacle: "it is read-only" }) };
}

/** Why a path does not lead to the file of that name any more; undefined where it does. */
async function placeOf(path: string, folder: vscode.Uri): Promise<string | undefined> {
  const root = await realpath(folder.fsPath);
  const wanted = resolve(root, path);
  if (isOutside(relative(root, wanted))) return "it is outside the open folder";
  try {
    const real = await realOf(wanted);
    if (isOutside(relative(root, real))) return "it now leads outside the folder through a link";
    return plainName(real) === plainName(wanted) ? undefined : "it is now a link, or in a linked folder";
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === "ENOTDIR" ? "a file now has the name of its folder" : `it cannot be reached: ${errorText(error)}`;
  }
}

/** Current contents of a file, with unsaved text. */
export async function heldIn(path: string, folder: vscode.Uri): Promise<Held> {
  const uri = uriOf(path, folder);
  const open = openDocument(uri);
  const unsaved = open?.isDirty === true ? { unsaved: open.getText() } : {};
  const found = await stat(uri.fsPath).catch(() => undefined);
  if (found?.isFile() !== true) return { path, ...unsaved };
  return { path, content: await readFile(uri.fsPath), mode: found.mode & 0o7777, ...unsaved };
}

/** Text of these bytes in the encoding that the editor uses for the file. */
export async function textOf(path: string, content: Uint8Array | undefined, folder: vscode.Uri): Promise<string> {
  if (content === undefined) return "";
  const uri = uriOf(path, folder);
  const open = openDocument(uri);
  try {
    return await (open === undefined
      ? vscode.workspace.decode(content, { uri })
      : vscode.workspace.decode(content, { encoding: open.encoding }));
  } catch {
    throw new Error(`${path} is not a text file, so its changes cannot be shown. It can still be restored.`);
  }
}

/** Puts all of this into the files, and saves them. What cannot be written is told, and the others are written all the same. */
export async function put(files: readonly Wanted[], folder: vscode.Uri): Promise<Outcome> {
  const outcome: Outcome = { before: [], failed: [] };
  const put = async (wanted: Wanted): Promise<void> => {
    try {
      await serialized(uriOf(wanted.path, folder).fsPath, () => putOne(wanted, folder, outcome));
    } catch (error) {
      outcome.failed.push({ what: wanted.path, why: errorText(error) });
    }
  };
  await Promise.all(files.map(put));
  return outcome;
}

async function putOne(wanted: Wanted, folder: vscode.Uri, outcome: Outcome): Promise<void> {
  const { path } = wanted;
  const now = await standingOf(path, folder);
  if (!isSame(now, wanted.now)) throw new Error("it changed in the meantime and was not overwritten");
  if (now.obstacle !== undefined) throw new Error(now.obstacle);
  const before = await heldIn(path, folder);
  try {
    await write(wanted, uriOf(path, folder));
  } finally {
    const after = await standingOf(path, folder);
    // Also what was written only in part can be taken back.
    if (!isSame(after, now)) outcome.before.push({ ...before, now: after });
  }
}

async function write({ content, mode, unsaved, now }: Wanted, uri: vscode.Uri): Promise<void> {
  if (content === undefined) {
    const edit = new vscode.WorkspaceEdit();
    edit.deleteFile(uri, { ignoreIfNotExists: true });
    if (!(await vscode.workspace.applyEdit(edit))) throw new Error("the editor could not delete it");
  } else {
    if (!now.isThere) {
      await mkdir(dirname(uri.fsPath), { recursive: true });
      // Where somebody made it just now, it is theirs.
      await writeFile(uri.fsPath, content, { flag: "wx" });
      if (mode !== undefined) await chmod(uri.fsPath, mode);
    }
    await putBytes(uri, content);
  }
  if (unsaved !== undefined) await replace(await vscode.workspace.openTextDocument(uri), unsaved);
}

/** Files of the folder that were written since a time, except those that programs make, and whether there are more to look at. */
export async function writtenSince(since: number, folder: vscode.Uri): Promise<{ paths: string[]; isCut: boolean }> {
  const hidden = ["files.exclude", "search.exclude"].flatMap((name) => {
    const patterns = vscode.workspace.getConfiguration().get<{ [pattern: string]: unknown }>(name, {});
    return Object.entries(patterns).flatMap(([pattern, is]) => (is === true ? [pattern] : []));
  });
  const found = await vscode.workspace.findFiles(
    new vscode.RelativePattern(folder, "**/*"),
    `{${[...MADE, ...hidden].join(",")}}`,
    MOST_FILES + 1,
  );
  const isCut = found.length > MOST_FILES;
  const looked = found.slice(0, MOST_FILES);
  const written = await Promise.all(
    looked.map(async ({ fsPath }) => (((await timeOf(fsPath)) ?? 0) >= since ? [relative(folder.fsPath, fsPath)] : [])),
  );
  return { paths: written.flat().sort(), isCut };
}

/** When a file was written or put there last; undefined where there is none. */
export async function timeOf(fsPath: string): Promise<number | undefined> {
  // What is moved or unpacked keeps the time of its writing.
  return stat(fsPath).then(
    (found) => (found.isFile() ? Math.max(found.mtimeMs, found.ctimeMs) : undefined),
    () => undefined,
  );
}
export async function isMissing(fsPath: string): Promise<boolean> {
  return lstat(fsPath).then(
    () => false,
    (error: NodeJS.ErrnoException) => error.code === "ENOENT" || error.code === "ENOTDIR",
  );
}

function isOutside(inside: string): boolean {
  return inside === ".." || inside.startsWith(`..${sep}`) || isAbsolute(inside);
}

/** A name as the file systems compare it that do not tell large letters from small ones. */
function plainName(path: string): string {
  return process.platform === "linux" ? path : path.normalize().toLowerCase();
}
