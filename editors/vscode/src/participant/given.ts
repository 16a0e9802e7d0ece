// What a user gave with a request in the editor's own chat: files, places in them, texts, names of tools. Read here, once;
// how it stands in a prompt is the sidecar's.

import * as vscode from "vscode";
import type { Attachment, Variable } from "@threadhold/client";
import { read } from "../tools/own.ts";
import { wordsOf } from "../words.ts";

/** The values of what was given, in the order of the words. */
export async function variablesOf(references: readonly vscode.ChatPromptReference[]): Promise<Variable[]> {
  // The editor gives the last one first.
  const all = await Promise.all([...references].reverse().map(variableOf));
  return all.filter((variable) => variable !== undefined);
}

/** Tools that the user named. */
export function namedTools(references: readonly vscode.ChatLanguageModelToolReference[]): Attachment[] {
  if (references.length === 0) return [];
  return [{ name: "tools", text: `The user asks you to use: ${references.map(({ name }) => name).join(", ")}.` }];
}

async function variableOf({ id, modelDescription, value }: vscode.ChatPromptReference): Promise<Variable | undefined> {
  if (typeof value === "string") return { name: modelDescription ?? id, value };
  if (value instanceof vscode.Uri) return { name: vscode.workspace.asRelativePath(value), value: await contentOf(value) };
  if (!(value instanceof vscode.Location)) return undefined;
  const { uri, range } = value;
  const lines = (await contentOf(uri)).split("\n").slice(range.start.line, range.end.line + 1);
  return { name: `${vscode.workspace.asRelativePath(uri)}#L${range.start.line + 1}-L${range.end.line + 1}`, value: lines.join("\n") };
}

async function contentOf(uri: vscode.Uri): Promise<string> {
  try {
    return (await read(uri)) ?? "(The file is gone.)";
  } catch (error) {
    // A folder or a picture: the model is told of it by its name, and why it does not see it.
    return `(It cannot be shown: ${wordsOf(error)})`;
  }
}
