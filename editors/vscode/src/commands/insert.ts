// Puts code of an answer into the text editor that was used last.

import * as vscode from "vscode";

/** Replaces each selection by the text, or puts it at each cursor, and gives the editor the focus. */
export async function insertAtCursor(text: string): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined) throw new Error("no text editor is open; open a file, place the cursor, and insert again");
  const { document, selections, viewColumn } = editor;
  const isDone = await editor.edit((edit) => {
    for (const selection of selections) edit.replace(selection, text);
  });
  if (!isDone) throw new Error(`the code could not be inserted into ${vscode.workspace.asRelativePath(document.uri)}; it may be read-only`);
  // What is typed next stands behind the text, and does not replace it.
  editor.selections = editor.selections.map(({ end }) => new vscode.Selection(end, end));
  await vscode.window.showTextDocument(document, { ...(viewColumn !== undefined && { viewColumn }) });
}

/** Opens the text as a file that is not saved yet; `language` is the editor's id of its language. */
export async function insertIntoNewFile(content: string, language: string | undefined): Promise<void> {
  const document = await vscode.workspace.openTextDocument({ content, ...(language !== undefined && { language }) });
  await vscode.window.showTextDocument(document);
}
