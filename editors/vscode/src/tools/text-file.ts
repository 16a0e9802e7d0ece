// A text file as it is on disk and as its letters: read in its encoding, changed so that nothing but the change is another,
// one change after the other. What is changed, and whether it may be, is not decided here.

import { readFile, realpath, stat, writeFile } from "node:fs/promises";
import * as vscode from "vscode";
import { KeyedQueue } from "../shared/keyed-queue.ts";

/** A text file. Its letters keep the ends of lines as they are, which a document of the editor does not. */
export interface TextFile {
  bytes: Uint8Array;
  text: string;
  encoding: string;
  /** Permission bits. */
  mode: number;
}

/** How often it is looked whether a document followed its file. */
const MOST_TRIES = 60;

/** How long a document may take to be saved. */
const TIMEOUT_MS = 15_000;

const changes = new KeyedQueue();

/** Does something with a file when all that began earlier with it is done, by whatever name the file was reached. */
export async function serialized<Done>(fsPath: string, act: () => Promise<Done>): Promise<Done> {
  return changes.run(await realpath(fsPath).catch(() => fsPath), act);
}

/** The document of a file, where the editor holds one. */
export function openDocument(uri: vscode.Uri): vscode.TextDocument | undefined {
  return vscode.workspace.textDocuments.find((document) => document.uri.toString() === uri.toString());
}

/** A file that is there, in the encoding that the editor has for it. */
export async function readText(uri: vscode.Uri): Promise<TextFile> {
  const { encoding } = await vscode.workspace.openTextDocument(uri);
  const [bytes, { mode }] = await Promise.all([readFile(uri.fsPath), stat(uri.fsPath)]);
  return { bytes, encoding, mode: mode & 0o7777, text: await vscode.workspace.decode(bytes, { encoding }) };
}

/** A text as bytes that say just that; undefined where the encoding has no form for some of its letters. */
export async function encoded(text: string, encoding: string): Promise<Uint8Array | undefined> {
  const bytes = await vscode.workspace.encode(text, { encoding });
  return (await vscode.workspace.decode(bytes, { encoding })) === text ? bytes : undefined;
}

/** Saves what an editor holds of a file; answers whether nothing is left unsaved. */
export async function save(uri: vscode.Uri): Promise<boolean> {
  const document = openDocument(uri);
  if (document?.isDirty !== true) return true;
  // Where the disk says something else, the editor asks its user, and answers nothing until then.
  const given = new Promise<boolean>((give) => setTimeout(() => give(false), TIMEOUT_MS).unref());
  return Promise.race([document.save(), given]);
}

/** Puts a text into a document of the editor, where it can be undone. */
export async function replace(document: vscode.TextDocument, text: string): Promise<void> {
  if (says(document, text)) return;
  const edit = new vscode.WorkspaceEdit();
  edit.replace(document.uri, new vscode.Range(document.positionAt(0), document.positionAt(document.getText().length)), text);
  if (!(await vscode.workspace.applyEdit(edit))) throw new Error("the editor did not apply the change");
}

/** Waits for a document to say what the file says that somebody else has just written. */
export async function catchUp(document: vscode.TextDocument): Promise<void> {
  const { encoding, uri } = document;
  for (let tries = 0; tries < MOST_TRIES && !document.isDirty; tries += 1) {
    const text = await vscode.workspace.decode(await readFile(uri.fsPath), { encoding }).then(
      (said) => said,
      () => undefined,
    );
    if (text === undefined || says(document, text)) return;
    await new Promise((done) => setTimeout(done, 50));
  }
}

/** Has a file be just these bytes. What an editor holds of it follows the disk, so that it can be undone there. */
export async function putBytes(uri: vscode.Uri, bytes: Uint8Array): Promise<void> {
  const document = openDocument(uri);
  // What is not saved follows no disk.
  const isSaved = document?.isDirty !== true || (await putText(document, bytes));
  // Never by a document alone: saving it makes all ends of lines alike, and may format.
  if (!bytesEqual(await readFile(uri.fsPath), bytes)) await writeFile(uri.fsPath, bytes);
  if (document !== undefined) await catchUp(document);
  if (!isSaved) throw new Error("it was written, but the editor still shows it as unsaved");
}

/** Has a document that is not saved say these bytes; answers whether it is saved. */
async function putText(document: vscode.TextDocument, bytes: Uint8Array): Promise<boolean> {
  const text = await vscode.workspace.decode(bytes, { encoding: document.encoding }).then(
    (said) => said,
    () => undefined,
  );
  // What is no text is in no document.
  if (text === undefined) return true;
  await replace(document, text);
  return save(document.uri);
}

/** True if a document of the editor can say this: all ends of lines alike, and those that it has. */
export function canSay({ eol }: vscode.TextDocument, text: string): boolean {
  const ends = new Set(text.match(/\r\n|\n|\r/g));
  return ends.size === 0 || (ends.size === 1 && ends.has(eol === vscode.EndOfLine.CRLF ? "\r\n" : "\n"));
}

export function bytesEqual(one: Uint8Array, other: Uint8Array): boolean {
  return Buffer.compare(one, other) === 0;
}

/** True if a document has this text, whatever the ends of its lines. */
export function says(document: vscode.TextDocument, text: string): boolean {
  return withPlainEnds(document.getText()) === withPlainEnds(text);
}

function withPlainEnds(text: string): string {
  return text.replace(/\r\n?/g, "\n");
}
