// Tools that change files: by an edit of the workspace, which the editor can undo, and whose diff can be shown before it
// is applied. Whether it may be applied at all is decided before, by the sidecar's approvals.

import { createHash } from "node:crypto";
import * as vscode from "vscode";
import type { ToolInvokeResult } from "@threadhold/client";
import { type Change, type Given, inFolder, type Keep, type OwnTool, read, text } from "./own.ts";

const editFile: OwnTool = {
  name: "edit_file",
  description: "Puts a text in the place of another one in a file of the folder. The old text must stand there exactly once, unless all of them are meant.",
  kind: "write",
  group: "edit",
  inputSchema: {
    type: "object",
    properties: {
      path: { type: "string", description: "The file, from the folder on." },
      old: { type: "string", description: "What stands there now, to the letter." },
      new: { type: "string", description: "What is to stand there." },
      all: { type: "boolean", description: "Whether every place is meant. Default: false." },
    },
    required: ["path", "old", "new"],
  },
  guidelines: "Read a file before you edit it. Give enough of the text around the place that it is found once.",
  async preview(given, folder) {
    const { uri, path, before } = await changeable(text(given, "path"), folder);
    if (before === undefined) throw new Error(`There is no file ${path}. write_file makes one.`);
    const [old, now] = [inLinesOf(before, text(given, "old")), inLinesOf(before, text(given, "new"))];
    const places = old === "" ? 0 : before.split(old).length - 1;
    if (places === 0) throw new Error(`The old text does not stand in ${path}. Read the file and try again.`);
    if (places > 1 && given["all"] !== true) {
      throw new Error(`The old text stands in ${path} ${places} times. Give more of the text around it, or say that all are meant.`);
    }
    return { uri, path, before, after: before.split(old).join(now), isNew: false };
  },
  run: apply,
};

const writeFile: OwnTool = {
  name: "write_file",
  description: "Writes a file of the folder whole: a new one, or in the place of what it says.",
  kind: "write",
  group: "edit",
  inputSchema: {
    type: "object",
    properties: {
      path: { type: "string", description: "The file, from the folder on." },
      text: { type: "string", description: "All that it is to say." },
    },
    required: ["path", "text"],
  },
  async preview(given, folder) {
    const { uri, path, before } = await changeable(text(given, "path"), folder);
    const after = inLinesOf(before ?? "", text(given, "text"));
    return { uri, path, before: before ?? "", after, isNew: before === undefined };
  },
  run: apply,
};

/** A file that may be changed, with what its document says: what is put into a document is what stands there. */
async function changeable(named: string, folder: vscode.Uri): Promise<{ uri: vscode.Uri; path: string; before: string | undefined }> {
  const { uri, path } = await inFolder(named, folder);
  if (path.split(/[\\/]/).includes(".git")) throw new Error(`${path} is git's own. Change it by git's commands.`);
  const said = await read(uri);
  if (said === undefined) return { uri, path, before: undefined };
  const before = (await vscode.workspace.openTextDocument(uri)).getText();
  // The editor read it in another encoding than it was written in: to save it would lose what it could not read.
  const isUnread = before.includes(UNREAD) && !Buffer.from(await vscode.workspace.fs.readFile(uri)).includes(UNREAD);
  if (isUnread) throw new Error(`${path} is not in the encoding that the editor has for it, so a change would lose letters. Set files.encoding for it, or change it by a command.`);
  return { uri, path, before };
}

/** What stands for bytes that are no letter. */
const UNREAD = "\uFFFD";

/** A text with the ends of lines of another: models write the short ones. */
function inLinesOf(other: string, said: string): string {
  return other.includes("\r\n") && !said.includes("\r\n") ? said.replaceAll("\n", "\r\n") : said;
}

export const EDIT_TOOLS: readonly OwnTool[] = [editFile, writeFile];

async function apply(this: OwnTool, given: Given, folder: vscode.Uri, _: AbortSignal, keep?: Keep): Promise<ToolInvokeResult> {
  const change = await this.preview?.(given, folder);
  if (change === undefined) throw new Error(`${this.name} changes nothing.`);
  const { uri, path, after, isNew } = change;
  const kept = await keep?.(change);
  const edit = new vscode.WorkspaceEdit();
  if (isNew) edit.createFile(uri, { contents: Buffer.from(after, "utf8"), ignoreIfExists: true });
  else {
    const document = await vscode.workspace.openTextDocument(uri);
    const all = new vscode.Range(document.positionAt(0), document.positionAt(document.getText().length));
    edit.replace(uri, all, after);
  }
  if (!(await vscode.workspace.applyEdit(edit))) throw new Error(`The editor did not apply the change of ${path}.`);
  const document = await vscode.workspace.openTextDocument(uri);
  if (document.isDirty && !(await document.save())) throw new Error(`${path} was changed and could not be saved.`);
  const sha256 = createHash("sha256").update(await vscode.workspace.fs.readFile(uri)).digest("hex");
  await kept?.(sha256);
  const lines = after.split("\n").length;
  return { content: isNew ? `${path} is there now, ${lines} lines.` : `${path} is changed.`, effects: [{ path, sha256 }] };
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
  async show(callId: string, { uri, path, before, after, isNew }: Change, title = `${path} (proposed by the agent)`): Promise<void> {
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
