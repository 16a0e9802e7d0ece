// Puts code of an answer into the text editor that was used last.

import * as vscode from "vscode";

/** The text editor that was used last, also while the panel is shown in its place. */
export class LastEditor implements vscode.Disposable {
  #document: vscode.TextDocument | undefined;
  #selections: readonly vscode.Selection[] = [];
  readonly #ends: vscode.Disposable[];

  constructor() {
    this.#take(vscode.window.activeTextEditor);
    this.#ends = [
      vscode.window.onDidChangeActiveTextEditor((editor) => this.#take(editor)),
      vscode.window.onDidChangeTextEditorSelection(({ textEditor }) => {
        if (textEditor === vscode.window.activeTextEditor) this.#take(textEditor);
      }),
      vscode.workspace.onDidCloseTextDocument((document) => {
        if (document === this.#document) this.#document = undefined;
      }),
    ];
  }

  dispose(): void {
    for (const end of this.#ends) end.dispose();
  }

  /** Its document and selections; undefined if none is open. */
  get state(): { document: vscode.TextDocument; selections: readonly vscode.Selection[] } | undefined {
    const document = this.#document;
    return document && { document, selections: this.#selections };
  }

  /** Shows it with its selections. */
  async show(): Promise<vscode.TextEditor> {
    const { state } = this;
    if (state === undefined) throw new Error("no text editor is open; open a file, place the cursor, and insert again");
    const { document, selections } = state;
    const open = vscode.window.visibleTextEditors.find((editor) => editor.document === document && editor.viewColumn !== undefined);
    const editor = await vscode.window.showTextDocument(document, open?.viewColumn === undefined ? {} : { viewColumn: open.viewColumn });
    editor.selections = selections;
    return editor;
  }

  #take(editor: vscode.TextEditor | undefined): void {
    // What is only shown, such as a side of a diff or a log, takes no code.
    if (editor === undefined || !["file", "untitled"].includes(editor.document.uri.scheme)) return;
    this.#document = editor.document;
    this.#selections = editor.selections;
  }
}

/** Replaces each selection by the text, or puts it at each cursor, and gives the editor the focus. */
export async function insertAtCursor(text: string, last: LastEditor): Promise<void> {
  const editor = await last.show();
  const { document, selections } = editor;
  const isDone = await editor.edit((edit) => {
    for (const selection of selections) edit.replace(selection, text);
  });
  if (!isDone) throw new Error(`the code could not be inserted into ${vscode.workspace.asRelativePath(document.uri)}; it may be read-only`);
  // What is typed next stands behind the text, and does not replace it.
  editor.selections = editor.selections.map(({ end }) => new vscode.Selection(end, end));
}

/** Opens the text as a file that is not saved yet; `language` is the editor's id of its language. */
export async function insertIntoNewFile(content: string, language: string | undefined): Promise<void> {
  const document = await vscode.workspace.openTextDocument({ content, ...(language !== undefined && { language }) });
  await vscode.window.showTextDocument(document);
}
