// Resolves an attachment to content for a prompt, text or an image, or fails with a message that says why it is neither.

import { basename, extname } from "node:path";
import type { Part } from "@threadhold/client";
import * as vscode from "vscode";
import { read } from "../tools/own-tool.ts";
import { openDocument } from "../tools/text-file.ts";

/** Content that an attachment resolves to. */
export type Readable = { kind: "text"; text: string } | { kind: "folder"; names: string[] } | { kind: "picture"; part: Picture };
export type Picture = Extract<Part, { type: "image" }>;

const PICTURES: Record<string, string> = {
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".gif": "image/gif",
  ".webp": "image/webp",
};
/** Providers reject larger images, but only after they were sent. */
const MOST_PICTURE_BYTES = 5_000_000;
/** A file beyond this does not fit any window, and would be cut without anybody seeing it. */
const MOST_FILE_BYTES = 1_000_000;

/** Reads what is at an address, with what is not saved. Fails with a sentence that says what to do. */
export async function readable(uri: vscode.Uri): Promise<Readable> {
  const name = basename(uri.path);
  const open = openDocument(uri) !== undefined;
  const found = open ? undefined : await vscode.workspace.fs.stat(uri).then(undefined, () => undefined);
  if (!open && found === undefined) throw new Error(`${name} was not attached: the file does not exist.`);
  if (found !== undefined && (found.type & vscode.FileType.Directory) !== 0) return { kind: "folder", names: await namesIn(uri) };
  const mimeType = PICTURES[extname(uri.path).toLowerCase()];
  if (mimeType !== undefined) return { kind: "picture", part: picture(mimeType, await vscode.workspace.fs.readFile(uri), name) };
  const tooLarge = `${name} was not attached: it is larger than 1 MB. Attach a selection, or let the agent read the file.`;
  if (found !== undefined && found.size > MOST_FILE_BYTES) throw new Error(tooLarge);
  const text = await read(uri);
  if (text === undefined) throw new Error(`${name} was not attached: the file no longer exists.`);
  if (text.length > MOST_FILE_BYTES) throw new Error(tooLarge);
  return { kind: "text", text };
}

/** A picture as a part of a request. */
export function picture(mimeType: string, bytes: Uint8Array, name: string): Picture {
  if (bytes.length > MOST_PICTURE_BYTES)
    throw new Error(`${name} was not attached: it is larger than 5 MB, which models do not accept. Attach a smaller image.`);
  return { type: "image", mimeType, data: Buffer.from(bytes).toString("base64") };
}

/** Names in a folder, those of folders with a slash at the end. */
async function namesIn(uri: vscode.Uri): Promise<string[]> {
  const entries = await vscode.workspace.fs.readDirectory(uri);
  return entries.map(([name, type]) => ((type & vscode.FileType.Directory) === 0 ? name : `${name}/`)).sort();
}
