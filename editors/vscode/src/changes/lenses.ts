// Keep and Undo above each hunk of a changed file, and in a diff, which shows no lenses, in a hover over it; marks of its lines,
// and the conditions of the editor's menus.

import * as vscode from "vscode";
import { openDocument } from "../tools/text-file.ts";
import type { HunkAt } from "./changes.ts";
import { countsOf, type Hunk, hunksOf } from "./hunks.ts";
import type { Entry, Tracker } from "./tracker.ts";
import { isBaseline } from "./views.ts";

export class Lenses implements vscode.CodeLensProvider, vscode.Disposable {
  readonly #tracker: Tracker;
  readonly #changed = new vscode.EventEmitter<void>();
  readonly onDidChangeCodeLenses = this.#changed.event;
  readonly #mark = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor("diffEditor.insertedLineBackground"),
    overviewRulerColor: new vscode.ThemeColor("editorOverviewRuler.addedForeground"),
    overviewRulerLane: vscode.OverviewRulerLane.Left,
  });
  /** Lines of a diff with a hover. It marks them itself. */
  readonly #offer = vscode.window.createTextEditorDecorationType({ isWholeLine: true });
  readonly #ends: vscode.Disposable[];

  constructor(tracker: Tracker) {
    this.#tracker = tracker;
    this.#ends = [
      this.#changed,
      this.#mark,
      this.#offer,
      vscode.languages.registerCodeLensProvider({ scheme: "file" }, this),
      tracker.onChange(() => this.#follow()),
      vscode.window.onDidChangeVisibleTextEditors(() => this.#draw()),
    ];
  }

  dispose(): void {
    for (const end of this.#ends) end.dispose();
  }

  provideCodeLenses(document: vscode.TextDocument): vscode.CodeLens[] {
    const entry = this.#tracker.find(document.uri);
    if (entry?.base === undefined) return [];
    return hunksOf(entry.base, document.getText()).flatMap((hunk) => lensesOf(entry, hunk, document));
  }

  #follow(): void {
    const { entries } = this.#tracker;
    this.#changed.fire();
    this.#draw();
    // Where the editor runs elsewhere, it knows a file by its path alone.
    void vscode.commands.executeCommand(
      "setContext",
      "threadhold.changedPaths",
      entries.map(({ uri }) => uri.fsPath),
    );
    void vscode.commands.executeCommand("setContext", "threadhold.hasChanges", entries.length > 0);
  }

  #draw(): void {
    for (const editor of vscode.window.visibleTextEditors) {
      const { document, viewColumn } = editor;
      const isLeft = isBaseline(document.uri);
      const entry = isLeft || document.uri.scheme === "file" ? this.#tracker.find(document.uri) : undefined;
      const lines = entry === undefined ? [] : linesOf(entry, isLeft ? openDocument(entry.uri) : document, isLeft);
      // The editors of a diff have no column.
      const isDiff = viewColumn === undefined;
      editor.setDecorations(this.#mark, isDiff ? [] : lines.map(({ range }) => range));
      editor.setDecorations(this.#offer, isDiff ? lines.map(({ range, at }) => ({ range, hoverMessage: offerOf(at) })) : []);
    }
  }
}

/** The lines of each hunk that has some, in a file or in its baseline. */
function linesOf(entry: Entry, now: vscode.TextDocument | undefined, isBase: boolean): { range: vscode.Range; at: HunkAt }[] {
  const hunks = entry.base === undefined || now === undefined ? [] : hunksOf(entry.base, now.getText());
  return hunks.flatMap((hunk) => {
    const [from, count] = isBase ? [hunk.baseFrom, hunk.baseCount] : [hunk.nowFrom, hunk.nowCount];
    return count > 0 ? [{ range: new vscode.Range(from, 0, from + count - 1, 0), at: hunkAt(entry, hunk) }] : [];
  });
}

const hunkAt = ({ uri }: Entry, { id, nowFrom }: Hunk): HunkAt => ({ fsPath: uri.fsPath, id, line: nowFrom });

/** What can be done with a hunk, as links. */
function offerOf(at: HunkAt): vscode.MarkdownString {
  const given = encodeURIComponent(JSON.stringify([at]));
  const offer = new vscode.MarkdownString(
    `[$(check) Keep](command:threadhold.keepHunk?${given} "Keep this change by the agent")&nbsp;&nbsp;` +
      `[$(discard) Undo](command:threadhold.undoHunk?${given} "Undo this change by the agent")`,
    true,
  );
  offer.isTrusted = { enabledCommands: ["threadhold.keepHunk", "threadhold.undoHunk"] };
  return offer;
}

function lensesOf(entry: Entry, hunk: Hunk, document: vscode.TextDocument): vscode.CodeLens[] {
  const line = Math.min(hunk.nowFrom, document.lineCount - 1);
  const range = new vscode.Range(line, 0, line, 0);
  const at = hunkAt(entry, hunk);
  const { added, removed } = countsOf([hunk]);
  const lens = (title: string, tooltip: string, command: string, given: unknown): vscode.CodeLens =>
    new vscode.CodeLens(range, { title, tooltip, command, arguments: [given] });
  return [
    lens("Keep", "Keep this change by the agent", "threadhold.keepHunk", at),
    lens("Undo", "Undo this change by the agent", "threadhold.undoHunk", at),
    lens(`Show Diff (+${added} −${removed})`, "Show all changes by the agent in this file", "threadhold.showFileChanges", entry.uri),
  ];
}
