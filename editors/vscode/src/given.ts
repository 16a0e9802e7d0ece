// What a user gives with a request, as a prompt can hold it: words or a picture, and in words for a person why not where
// it can be neither. Which request it goes with is attachments.ts's and the participant's.

import { basename, extname } from "node:path";
import * as vscode from "vscode";
import type { Part } from "@threadhold/client";
import { read } from "./tools/own.ts";
import { openDocument } from "./tools/text-file.ts";

/** What a file, a folder or a picture comes to. */
export type Readable = { kind: "text"; text: string } | { kind: "folder"; names: string[] } | { kind: "picture"; part: Picture };
export type Picture = Extract<Part, { type: "image" }>;

const PICTURES: Record<string, string> = { ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp" };
/** What providers take of a picture; a larger one would be refused after it was sent. */
const MOST_PICTURE_BYTES = 5_000_000;
/** A file beyond this does not fit any window, and would be cut without anybody seeing it. */
const MOST_FILE_BYTES = 1_000_000;

/** Reads what is at an address, with what is not saved. Fails with a sentence that says what to do. */
export async function readable(uri: vscode.Uri): Promise<Readable> {
  const name = basename(uri.path);
  const open = openDocument(uri) !== undefined;
  const found = open ? undefined : await vscode.workspace.fs.stat(uri).then(undefined, () => undefined);
  if (!open && found === undefined) throw new Error(`${name} cannot be read: there is no such file. Nothing of it is attached.`);
  if (found !== undefined && (found.type & vscode.FileType.Directory) !== 0) return { kind: "folder", names: await namesIn(uri) };
  const mediaType = PICTURES[extname(uri.path).toLowerCase()];
  if (mediaType !== undefined) return { kind: "picture", part: picture(mediaType, await vscode.workspace.fs.readFile(uri), name) };
  const tooLarge = `${name} is larger than 1 MB. Attach a selection of it, or let the agent read it.`;
  if (found !== undefined && found.size > MOST_FILE_BYTES) throw new Error(tooLarge);
  const text = await read(uri);
  if (text === undefined) throw new Error(`${name} is not there any more. Nothing of it is attached.`);
  if (text.length > MOST_FILE_BYTES) throw new Error(tooLarge);
  return { kind: "text", text };
}

/** A picture as a part of a request. */
export function picture(mediaType: string, bytes: Uint8Array, name: string): Picture {
  if (bytes.length > MOST_PICTURE_BYTES) throw new Error(`${name} is larger than 5 MB, more than models take. Make it smaller and attach it again.`);
  return { type: "image", mediaType, data: Buffer.from(bytes).toString("base64") };
}

/** What lies in a folder, folders with a stroke at their end. */
async function namesIn(uri: vscode.Uri): Promise<string[]> {
  const entries = await vscode.workspace.fs.readDirectory(uri);
  return entries.map(([name, type]) => ((type & vscode.FileType.Directory) === 0 ? name : `${name}/`)).sort();
}
