// What a user gave with a request in the editor's own chat: files, folders, places in files, pictures, texts, names of tools.
// Read here, once; how it stands in a prompt is the sidecar's, what a file comes to is ../given.ts's.

import * as vscode from "vscode";
import type { Attachment, Variable } from "@threadhold/client";
import { picture, readable } from "../given.ts";
import { wordsOf } from "../words.ts";

/** The values of what was given, in its order, and a sentence for each that could not be taken. */
export interface Given {
  variables: Variable[];
  left: string[];
}

/** Reads what was given. What cannot be read is named to the model too, so that it does not guess. */
export async function given(references: readonly vscode.ChatPromptReference[]): Promise<Given> {
  const left: string[] = [];
  // What is attached has no place among the words and comes before them; of what has one, the editor gives the last first.
  const inOrder = [...references].sort((one, other) => (one.range?.[0] ?? -1) - (other.range?.[0] ?? -1));
  const variables = await Promise.all(
    inOrder.map(async (reference): Promise<Variable> => {
      const name = nameOf(reference);
      try {
        return { name, value: await valueOf(reference, name) };
      } catch (error) {
        left.push(wordsOf(error));
        return { name, value: `(It cannot be shown: ${wordsOf(error)})` };
      }
    }),
  );
  return { variables, left };
}

/** Tools that the user named. */
export function namedTools(references: readonly vscode.ChatLanguageModelToolReference[]): Attachment[] {
  if (references.length === 0) return [];
  return [{ name: "tools", text: `The user asks you to use: ${references.map(({ name }) => name).join(", ")}.` }];
}

function nameOf({ id, modelDescription, value }: vscode.ChatPromptReference): string {
  if (value instanceof vscode.Uri) return vscode.workspace.asRelativePath(value);
  if (!(value instanceof vscode.Location)) return modelDescription ?? id;
  const { uri, range } = value;
  return `${vscode.workspace.asRelativePath(uri)}#L${range.start.line + 1}-L${range.end.line + 1}`;
}

async function valueOf({ value }: vscode.ChatPromptReference, name: string): Promise<Variable["value"]> {
  if (typeof value === "string") return value;
  if (value instanceof vscode.Uri) {
    const found = await readable(value);
    if (found.kind === "picture") return [found.part];
    return found.kind === "folder" ? `A folder. In it:\n${found.names.join("\n")}` : found.text;
  }
  if (value instanceof vscode.Location) {
    const { start, end } = value.range;
    // A document of any size has lines that fit.
    const document = await vscode.workspace.openTextDocument(value.uri);
    return document.getText(new vscode.Range(start.line, 0, end.line + 1, 0));
  }
  // A picture that was pasted. Its class is no part of the stable interface, so it is known by what it has.
  if (isBinary(value)) return [picture(value.mimeType, await value.data(), name)];
  throw new Error(`${name} is of a kind that cannot be read here. Attach the file that it is in, or paste its text.`);
}

function isBinary(value: unknown): value is { mimeType: string; data(): Thenable<Uint8Array> } {
  const { mimeType, data } = (value ?? {}) as { mimeType?: unknown; data?: unknown };
  return typeof mimeType === "string" && mimeType.startsWith("image/") && typeof data === "function";
}
