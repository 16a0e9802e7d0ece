// Attachments of a request in the editor's own chat: files, folders, locations, images, texts, names of tools. Read once,
// here; the sidecar decides how they stand in a prompt.

import type { Attachment, Variable } from "@threadhold/client";
import * as vscode from "vscode";
import { picture, readable } from "../session/attachment-content.ts";
import { errorText } from "../shared/text.ts";

/** The values of what was given, in its order, and a sentence for each that could not be taken. */
export interface References {
  variables: Variable[];
  left: string[];
}

/** Reads what was given. What cannot be read is named to the model too, so that it does not guess. */
export async function readReferences(references: readonly vscode.ChatPromptReference[]): Promise<References> {
  const left: string[] = [];
  // What is attached has no place among the words and comes before them; of what has one, the editor gives the last first.
  const inOrder = [...references].sort((one, other) => (one.range?.[0] ?? -1) - (other.range?.[0] ?? -1));
  const variables = await Promise.all(
    inOrder.map(async (reference): Promise<Variable> => {
      const name = nameOf(reference);
      try {
        return { name, value: await readValue(reference, name) };
      } catch (error) {
        left.push(errorText(error));
        return { name, value: `(cannot be read: ${errorText(error)})` };
      }
    }),
  );
  return { variables, left };
}

/** Tools that the user named. */
export function namedTools(references: readonly vscode.ChatLanguageModelToolReference[]): Attachment[] {
  if (references.length === 0) return [];
  return [{ name: "tools", text: `The user asks you to use these tools: ${references.map(({ name }) => name).join(", ")}.` }];
}

function nameOf({ id, modelDescription, value }: vscode.ChatPromptReference): string {
  if (value instanceof vscode.Uri) return vscode.workspace.asRelativePath(value);
  if (!(value instanceof vscode.Location)) return modelDescription ?? id;
  const { uri, range } = value;
  return `${vscode.workspace.asRelativePath(uri)}#L${range.start.line + 1}-L${range.end.line + 1}`;
}

async function readValue({ value }: vscode.ChatPromptReference, name: string): Promise<Variable["value"]> {
  if (typeof value === "string") return value;
  if (value instanceof vscode.Uri) {
    const found = await readable(value);
    if (found.kind === "picture") return [found.part];
    return found.kind === "folder" ? `A folder that contains:\n${found.names.join("\n")}` : found.text;
  }
  if (value instanceof vscode.Location) {
    const { start, end } = value.range;
    // A document of any size has lines that fit.
    const document = await vscode.workspace.openTextDocument(value.uri);
    return document.getText(new vscode.Range(start.line, 0, end.line + 1, 0));
  }
  // A picture that was pasted. Its class is no part of the stable interface, so it is known by what it has.
  if (isBinary(value)) return [picture(value.mimeType, await value.data(), name)];
  throw new Error(`${name} was not attached: attachments of this kind are not supported. Attach its file, or paste its text.`);
}

function isBinary(value: unknown): value is { mimeType: string; data(): Thenable<Uint8Array> } {
  const { mimeType, data } = (value ?? {}) as { mimeType?: unknown; data?: unknown };
  return typeof mimeType === "string" && mimeType.startsWith("image/") && typeof data === "function";
}
