// Proposes code of an answer as a change of the file that it names, else of the one in the text editor that was used last.

import * as vscode from "vscode";
import { kindOfBlock } from "../changes/block.ts";
import type { Proposals } from "../changes/proposals.ts";
import { inFolder, read } from "../tools/own-tool.ts";
import type { LastEditor } from "./insert.ts";

/** Opens the diff that code makes in a file; `named` is the path that its block names. */
export async function applyCode(
  code: string,
  named: string | undefined,
  folder: vscode.Uri,
  { last, proposals }: { last: LastEditor; proposals: Proposals },
): Promise<void> {
  const { state } = last;
  const active = state?.document.uri.scheme === "file" ? state.document.uri.fsPath : undefined;
  const target = named ?? active;
  if (target === undefined) throw new Error("the code names no file, and no file is open in an editor; open the file, and apply again");
  const { uri, path } = await inFolder(target, folder);
  const whole = `${code}\n`;
  const text = await read(uri);
  if (text === undefined) return proposals.propose(path, whole, folder);
  const cursor = state !== undefined && active === uri.fsPath ? state : undefined;
  const isSelected = cursor?.selections.some((selection) => !selection.isEmpty) === true;
  const kind = isSelected ? "part" : kindOfBlock(whole, text);
  const isWhole = kind === "unclear" ? await ask(path, cursor !== undefined) : kind === "whole";
  if (isWhole === undefined) return;
  if (isWhole) return proposals.propose(path, text === "" || text.endsWith("\n") ? whole : code, folder);
  if (cursor === undefined)
    throw new Error(`the code is a part of ${path}, and no cursor is in that file; open it, place the cursor, and apply again`);
  return proposals.propose(path, withInserted(cursor.document, code, cursor.selections), folder);
}

/** Asks whether code is a whole file; undefined where the user leaves it. */
async function ask(path: string, hasCursor: boolean): Promise<boolean | undefined> {
  const replace = { label: "Replace File", detail: "The code is the whole file.", isWhole: true };
  const insert = {
    label: "Insert at Cursor",
    detail: "The code is a part of the file, and goes where the cursor is in it.",
    isWhole: false,
  };
  const chosen = await vscode.window.showQuickPick(hasCursor ? [replace, insert] : [replace], {
    title: `Apply Code to ${path}`,
    placeHolder: "It cannot be told whether the code is the whole file",
  });
  return chosen?.isWhole;
}

/** The text of a document with code in place of each selection. */
function withInserted(document: vscode.TextDocument, code: string, selections: readonly vscode.Selection[]): string {
  // From the last one on, so that the places of those before stay.
  const ordered = [...selections].sort((one, other) => other.start.compareTo(one.start));
  return ordered.reduce(
    (text, { start, end }) => text.slice(0, document.offsetAt(start)) + code + text.slice(document.offsetAt(end)),
    document.getText(),
  );
}
