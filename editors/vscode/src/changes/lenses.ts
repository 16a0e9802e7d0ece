// Keep and Undo above each hunk of a changed file, marks of its lines, and the conditions of the editor's menus.

import * as vscode from "vscode";
import type { HunkAt } from "./changes.ts";
import { countsOf, type Hunk, hunksOf } from "./hunks.ts";
import type { Entry, Tracker } from "./tracker.ts";

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
  readonly #ends: vscode.Disposable[];

  constructor(tracker: Tracker) {
    this.#tracker = tracker;
    this.#ends = [
      this.#changed,
      this.#mark,
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
      // A diff marks its lines itself.
      if (editor.viewColumn === undefined) continue;
      const { uri } = editor.document;
      const base = uri.scheme === "file" ? this.#tracker.find(uri)?.base : undefined;
      const hunks = base === undefined ? [] : hunksOf(base, editor.document.getText());
      const lines = hunks.filter(({ nowCount }) => nowCount > 0);
      editor.setDecorations(
        this.#mark,
        lines.map(({ nowFrom, nowCount }) => new vscode.Range(nowFrom, 0, nowFrom + nowCount - 1, 0)),
      );
    }
  }
}

function lensesOf(entry: Entry, hunk: Hunk, document: vscode.TextDocument): vscode.CodeLens[] {
  const line = Math.min(hunk.nowFrom, document.lineCount - 1);
  const range = new vscode.Range(line, 0, line, 0);
  const at: HunkAt = { fsPath: entry.uri.fsPath, id: hunk.id, line: hunk.nowFrom };
  const { added, removed } = countsOf([hunk]);
  const lens = (title: string, tooltip: string, command: string, given: unknown): vscode.CodeLens =>
    new vscode.CodeLens(range, { title, tooltip, command, arguments: [given] });
  return [
    lens("Keep", "Keep this change by the agent", "threadhold.keepHunk", at),
    lens("Undo", "Undo this change by the agent", "threadhold.undoHunk", at),
    lens(`Show Diff (+${added} −${removed})`, "Show all changes by the agent in this file", "threadhold.showFileChanges", entry.uri),
  ];
}
