// Tools that change files: by an edit of the workspace, which the editor can undo, and whose diff can be shown before it
// is applied. Whether it may be applied at all is decided before, by the sidecar's approvals.

import { access, constants, readFile, stat } from "node:fs/promises";
import type { ToolInvokeResult } from "@threadhold/client";
import * as vscode from "vscode";
import { hashOf } from "../rewind/before-images.ts";
import { type Change, type Given, inFolder, type Listener, type OwnTool, text } from "./own-tool.ts";
import {
  bytesEqual,
  canSay,
  catchUp,
  encoded,
  openDocument,
  putBytes,
  readText,
  replace,
  save,
  says,
  serialized,
  type TextFile,
} from "./text-file.ts";

const editFile: OwnTool = {
  name: "edit_file",
  description: "Replaces text in a workspace file. `old` must match exactly once, unless `all` is true.",
  kind: "edit",
  group: "edit",
  inputSchema: {
    type: "object",
    properties: {
      path: { type: "string", description: "File path, relative to the workspace folder." },
      old: { type: "string", description: "Exact text to replace." },
      new: { type: "string", description: "Replacement text." },
      all: { type: "boolean", description: "Replace every match. Default: false." },
    },
    required: ["path", "old", "new"],
  },
  guidelines: "Read a file before you edit it. Include enough surrounding text in `old` that it matches once.",
  async preview(given, folder) {
    const { uri, path, real, file } = await changeable(text(given, "path"), folder);
    if (file === undefined) throw new Error(`file ${path} does not exist; create it with write_file`);
    const before = file.text;
    const { old, now, places } = placesOf(before, text(given, "old"), text(given, "new"));
    if (places === 0) throw new Error(`old does not match anything in ${path}; read the file and try again`);
    if (places > 1 && given["all"] !== true) {
      throw new Error(`old matches ${places} times in ${path}; include more surrounding text, or set all to true`);
    }
    return { uri, path, real, before, after: before.split(old).join(now), isNew: false, file };
  },
  run: apply,
};

export const writeFile: OwnTool & Required<Pick<OwnTool, "preview">> = {
  name: "write_file",
  description: "Writes a complete workspace file. Creates the file or replaces all of its contents.",
  kind: "edit",
  group: "edit",
  inputSchema: {
    type: "object",
    properties: {
      path: { type: "string", description: "File path, relative to the workspace folder." },
      text: { type: "string", description: "Complete contents of the file." },
    },
    required: ["path", "text"],
  },
  async preview(given, folder) {
    const { uri, path, real, file } = await changeable(text(given, "path"), folder);
    const before = file?.text ?? "";
    const after = inLinesOf(before, text(given, "text"));
    return { uri, path, real, before, after, isNew: file === undefined, ...(file !== undefined && { file }) };
  },
  run: apply,
};

interface Changeable {
  uri: vscode.Uri;
  path: string;
  real: string;
  file?: TextFile;
}

/** A file that may be changed, as it is with what is not saved; without one where there is none. */
async function changeable(named: string, folder: vscode.Uri): Promise<Changeable> {
  const { uri, path, real } = await inFolder(named, folder);
  // By whatever name it is reached.
  if ([path, real].some((name) => name.split(/[\\/]/).includes(".git")))
    throw new Error(`${path} belongs to git; change it with git commands`);
  const there = await stat(uri.fsPath).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (there === undefined) return { uri, path, real };
  if (!there.isFile()) throw new Error(`${path} is not a file`);
  const mayWrite =
    (there.mode & 0o222) !== 0 &&
    (await access(uri.fsPath, constants.W_OK).then(
      () => true,
      () => false,
    ));
  if (!mayWrite) throw new Error(`${path} is read-only`);
  const file = await readText(uri);
  // The editor reads it in another encoding than it was written in: to save it would lose what it could not read.
  const again = await encoded(file.text, file.encoding);
  if (again === undefined || !bytesEqual(again, file.bytes)) {
    const why = `${path} is not in the encoding that the editor assumes, so an edit would lose characters;`;
    throw new Error(`${why} set files.encoding for it, or change it with a command`);
  }
  const open = openDocument(uri);
  return { uri, path, real, file: open?.isDirty === true ? { ...file, text: open.getText() } : file };
}

/** Where a text stands, with the ends of lines that the file has there: models write the short ones. */
function placesOf(before: string, old: string, now: string): { old: string; now: string; places: number } {
  const count = (said: string): number => (said === "" ? 0 : before.split(said).length - 1);
  const isLong = old.includes("\n") ? count(old) === 0 : hasLongEnd(before, before.indexOf(old));
  const [meant, put] = isLong ? [inLinesOf("\r\n", old), inLinesOf("\r\n", now)] : [old, now];
  return { old: meant, now: put, places: count(meant) };
}

/** True if the line at a place ends as those of Windows do; the last line, as the one before it. */
function hasLongEnd(text: string, at: number): boolean {
  const next = text.indexOf("\n", Math.max(0, at));
  const end = next < 0 ? text.lastIndexOf("\n") : next;
  return end > 0 && text[end - 1] === "\r";
}

/** A text with the ends of lines of another. */
function inLinesOf(other: string, said: string): string {
  return other.includes("\r\n") && !said.includes("\r\n") ? said.replaceAll("\n", "\r\n") : said;
}

export const EDIT_TOOLS: readonly OwnTool[] = [editFile, writeFile];

async function apply(this: OwnTool, given: Given, folder: vscode.Uri, signal: AbortSignal, { keep }: Listener): Promise<ToolInvokeResult> {
  const { uri, path } = await inFolder(text(given, "path"), folder);
  // Calls of one round run side by side.
  return serialized(uri.fsPath, async () => {
    signal.throwIfAborted();
    // The change would save it anyway; so the file before it is one that was there.
    if (!(await save(uri))) throw new Error(`${path} has unsaved changes that could not be saved; save or revert them first`);
    const change = await this.preview?.(given, folder);
    if (change === undefined) throw new Error(`${this.name} changes nothing`);
    const { real, after, isNew, file } = change;
    const encoding = file?.encoding ?? encodingFor(uri);
    const bytes = await encoded(after, encoding);
    if (bytes === undefined)
      throw new Error(`${path} is encoded as ${encoding}, which cannot represent all characters of the new text; leave them out`);
    if (file !== undefined && !(await saysNow(uri, file.text))) throw new Error(`${path} changed in the meantime; read it and try again`);
    const kept = await keep?.({ path: real, ...(file !== undefined && { bytes: file.bytes, mode: file.mode }) });
    if (isNew) await create(uri, path, bytes);
    else await write(uri, path, after, bytes);
    const sha256 = hashOf(await readFile(uri.fsPath));
    await kept?.(sha256);
    const lines = after.split("\n").length;
    return { content: isNew ? `Created ${path} (${lines} lines).` : `Changed ${path}.`, effects: [{ path: real, sha256 }] };
  });
}

/** True if the editor holds a file as it is on disk. */
async function saysNow(uri: vscode.Uri, said: string): Promise<boolean> {
  const document = await vscode.workspace.openTextDocument(uri);
  await catchUp(document);
  return says(document, said);
}

/** Configured encoding for a file that does not exist yet. */
function encodingFor(uri: vscode.Uri): string {
  return vscode.workspace.getConfiguration("files", uri).get("encoding", "utf8");
}

async function create(uri: vscode.Uri, path: string, contents: Uint8Array): Promise<void> {
  const edit = new vscode.WorkspaceEdit();
  edit.createFile(uri, { contents });
  if (!(await vscode.workspace.applyEdit(edit))) throw new Error(`the editor could not create ${path}; it may exist by now`);
}

async function write(uri: vscode.Uri, path: string, after: string, bytes: Uint8Array): Promise<void> {
  const document = await vscode.workspace.openTextDocument(uri);
  // What a document cannot say is written, and the document follows the file.
  if (!canSay(document, after)) return putBytes(uri, bytes);
  await replace(document, after);
  if (!(await save(uri))) throw new Error(`${path} was changed but could not be saved`);
}

/** The scheme of texts that a file would have after an edit. */
const SCHEME = "threadhold-edit";

/** Shows what an edit would change, before it is applied. */
export class Diffs implements vscode.TextDocumentContentProvider, vscode.Disposable {
  readonly #texts = new Map<string, string>();
  readonly #registered = vscode.workspace.registerTextDocumentContentProvider(SCHEME, this);

  dispose(): void {
    this.#registered.dispose();
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.#texts.get(uri.query) ?? "";
  }

  /** Opens the diff of a call beside what the user looks at, without taking the focus. */
  async show(callId: string, { uri, path, before, after, isNew }: Change, title = `${path} (Proposed by Agent)`): Promise<void> {
    this.#texts.set(`${callId}/before`, before);
    this.#texts.set(`${callId}/after`, after);
    const side = (name: string): vscode.Uri => vscode.Uri.from({ scheme: SCHEME, path: uri.path, query: `${callId}/${name}` });
    const left = isNew ? side("before") : uri;
    await vscode.commands.executeCommand("vscode.diff", left, side("after"), title, {
      preview: true,
      preserveFocus: true,
    });
  }

  /** Closes the diff of a call: it was decided about. */
  async close(callId: string): Promise<void> {
    this.#texts.delete(`${callId}/before`);
    this.#texts.delete(`${callId}/after`);
    const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
    const mine = tabs.filter(({ input }) => {
      return input instanceof vscode.TabInputTextDiff && input.modified.scheme === SCHEME && input.modified.query === `${callId}/after`;
    });
    if (mine.length > 0) await vscode.window.tabGroups.close(mine);
  }
}
