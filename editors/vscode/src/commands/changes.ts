// Commands for the agent's changes: of the lenses, of the menus of an editor, and of the palette.

import * as vscode from "vscode";
import type { HunkAt } from "../changes/changes.ts";
import { hunkAtBaseLine, hunkAtLine, hunksOf } from "../changes/hunks.ts";
import type { Entry } from "../changes/tracker.ts";
import { isBaseline } from "../changes/views.ts";
import type { Action } from "../shared/view.ts";
import { type App, act, sayOf } from "./actions.ts";

type Commands = Record<string, (...given: never[]) => unknown>;

export function changeCommands(app: App): Commands {
  const { tracker, changes, proposals } = app;
  /** The changed file of an editor: the one that a menu names, else the active one. */
  const entryOf = (uri: unknown): Entry | undefined => {
    const named = uri instanceof vscode.Uri ? uri : vscode.window.activeTextEditor?.document.uri;
    return named && tracker.find(named.with({ scheme: "file" }));
  };
  const ofFile = (type: "keepChanges" | "undoChanges" | "showChange") => (uri?: unknown) => {
    const entry = entryOf(uri);
    if (entry === undefined) return tellNone("This file has no changes by the agent.");
    const action: Action = type === "showChange" ? { type, path: entry.path } : { type, paths: [entry.path] };
    return act(app, action);
  };
  /** The hunk of a lens, else the one at the cursor. */
  const hunkOf = (given: unknown): HunkAt | undefined => (isHunkAt(given) ? given : hunkAtCursor(entryOf(undefined)));
  const ofHunk = (run: (at: HunkAt) => Promise<void> | undefined) => (given?: unknown) => {
    const at = hunkOf(given);
    return at === undefined ? tellNone("There is no change by the agent at the cursor.") : run(at);
  };
  const all = (type: "keepChanges" | "undoChanges" | "viewChanges") => () =>
    tracker.entries.length === 0 ? tellNone("There are no changes by the agent.") : act(app, { type });
  /** Of a proposal where the menu, or the active editor, is of one; else of the agent's changes. */
  const orProposed = (ofProposal: (given: unknown) => Promise<void>, other: (given?: unknown) => unknown) => (given?: unknown) =>
    proposals.isAt(given) ? ofProposal(given) : other(given);
  return {
    viewChanges: all("viewChanges"),
    keepAll: all("keepChanges"),
    undoAll: all("undoChanges"),
    keepFile: orProposed((uri) => proposals.keep(uri), ofFile("keepChanges")),
    undoFile: orProposed((uri) => proposals.undo(uri), ofFile("undoChanges")),
    showFileChanges: ofFile("showChange"),
    keepHunk: orProposed(
      () => proposals.keepHunk(),
      ofHunk((at) => changes?.keepHunk(at)),
    ),
    undoHunk: orProposed(
      () => proposals.undoHunk(),
      ofHunk((at) => changes?.undoHunk(at, (notice) => sayOf(app, app.chat.session?.id, notice))),
    ),
    nextHunk: () => go(tracker.entries, 1),
    previousHunk: () => go(tracker.entries, -1),
  };
}

function tellNone(text: string): void {
  void vscode.window.showInformationMessage(text);
}

function isHunkAt(given: unknown): given is HunkAt {
  return typeof given === "object" && given !== null && "id" in given && "fsPath" in given;
}

/** The hunk at the cursor, on either side of a diff. */
function hunkAtCursor(entry: Entry | undefined): HunkAt | undefined {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined || entry?.base === undefined) return undefined;
  const { active } = editor.selection;
  const isLeft = isBaseline(editor.document.uri);
  const text = vscode.workspace.textDocuments.find(({ uri }) => uri.fsPath === entry.uri.fsPath && uri.scheme === "file")?.getText();
  const hunks = text === undefined ? [] : hunksOf(entry.base, text);
  const hunk = isLeft ? hunkAtBaseLine(hunks, active.line) : hunkAtLine(hunks, active.line);
  return hunk && { fsPath: entry.uri.fsPath, id: hunk.id, line: hunk.nowFrom };
}

/** Goes to the next or the previous hunk, on into other files, and around at their end. */
async function go(entries: readonly Entry[], step: 1 | -1): Promise<void> {
  const shown = entries.filter(({ base, now }) => base !== undefined && now.isThere);
  const editor = vscode.window.activeTextEditor;
  const from = shown.findIndex(({ uri }) => uri.fsPath === editor?.document.uri.fsPath);
  for (let count = 0; count <= shown.length; count += 1) {
    const at = from < 0 ? (step > 0 ? count : shown.length - 1 - count) : from + step * count;
    const entry = shown[((at % shown.length) + shown.length) % shown.length];
    if (entry === undefined) break;
    const document = await vscode.workspace.openTextDocument(entry.uri);
    const lines = hunksOf(entry.base ?? "", document.getText()).map(({ nowFrom }) => Math.min(nowFrom, document.lineCount - 1));
    const cursor = editor?.selection.active.line ?? 0;
    const isHere = count === 0 && from >= 0;
    const ahead = isHere ? lines.filter((line) => (step > 0 ? line > cursor : line < cursor)) : lines;
    const line = step > 0 ? ahead[0] : ahead.at(-1);
    if (line === undefined) continue;
    await vscode.window.showTextDocument(document, { selection: new vscode.Range(line, 0, line, 0) });
    return;
  }
  tellNone("There are no other changes by the agent.");
}
