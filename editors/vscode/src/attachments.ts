// What goes with the next request: files, selections, pictures. Only until it is sent.

import { readFile, stat } from "node:fs/promises";
import { basename, extname } from "node:path";
import * as vscode from "vscode";
import type { ContextFile, Part } from "@threadhold/client";
import { read } from "./tools/own.ts";
import type { Attached } from "./view.ts";

const PICTURES: Record<string, string> = { ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp" };
/** What providers take of a picture; a larger one would be refused after it was sent. */
const MOST_PICTURE_BYTES = 5_000_000;
/** A file beyond this does not fit any window, and would be cut without anybody seeing it. */
const MOST_FILE_BYTES = 1_000_000;

export type Held = Attached & ({ kind: "image"; source: string; part: Part } | { kind: "file" | "selection"; uri: vscode.Uri; text?: string });

export class Attachments {
  #held: Held[] = [];
  #next = 0;

  get shown(): Attached[] {
    return this.#held.map(({ id, label, kind }) => ({ id, label, kind }));
  }

  /** What the pictures look like, by their ids. */
  get pictures(): Map<string, string> {
    return new Map(this.#held.flatMap((held) => (held.kind === "image" ? [[held.id, held.source] as const] : [])));
  }

  /** Takes files in; pictures as pictures. Those that cannot go along are said, after the others were taken. */
  async addFiles(uris: readonly vscode.Uri[]): Promise<void> {
    const refused: string[] = [];
    for (const uri of uris) await this.#addFile(uri).catch((error: unknown) => refused.push(error instanceof Error ? error.message : String(error)));
    if (refused.length > 0) throw new Error(refused.join("\n"));
  }

  async #addFile(uri: vscode.Uri): Promise<void> {
    const name = basename(uri.path);
    const found = await stat(uri.fsPath).catch(() => undefined);
    if (found === undefined) throw new Error(`${name} cannot be read: there is no such file. Nothing of it is attached.`);
    if (!found.isFile()) throw new Error(`${name} is a folder. Attach files of it, or name it in your words.`);
    const mediaType = PICTURES[extname(uri.path).toLowerCase()];
    if (mediaType !== undefined) return this.addPicture(mediaType, (await readFile(uri.fsPath)).toString("base64"), name);
    if (found.size > MOST_FILE_BYTES) throw new Error(`${name} is larger than 1 MB. Attach a selection of it, or let the agent read it.`);
    // What is no text is known now, and not when it is sent.
    await read(uri);
    this.#held.push({ id: this.#id(), kind: "file", label: vscode.workspace.asRelativePath(uri), uri });
  }

  /** Takes what is selected in an editor; the whole file where nothing is. */
  async addFrom({ document, selection }: vscode.TextEditor): Promise<void> {
    if (selection.isEmpty) return this.addFiles([document.uri]);
    const path = vscode.workspace.asRelativePath(document.uri);
    const label = `${path}:${selection.start.line + 1}-${selection.end.line + 1}`;
    this.#held.push({ id: this.#id(), kind: "selection", label, uri: document.uri, text: document.getText(selection) });
    return undefined;
  }

  addPicture(mediaType: string, data: string, name: string): void {
    if (data.length * 0.75 > MOST_PICTURE_BYTES) throw new Error(`${name} is larger than 5 MB, more than models take. Make it smaller and attach it again.`);
    const part: Part = { type: "image", mediaType, data };
    this.#held.push({ id: this.#id(), kind: "image", label: name, source: `data:${mediaType};base64,${data}`, part });
  }

  remove(id: string): void {
    this.#held = this.#held.filter((held) => held.id !== id);
  }

  /** Takes all of it out, for a request: whatever is attached from now on goes with the next one. */
  take(): Held[] {
    return this.#held.splice(0);
  }

  /** What a request took that could not be sent. */
  putBack(taken: readonly Held[]): void {
    this.#held.unshift(...taken);
  }

  /** What is sent. A file is read now, with what is not saved. */
  async contents(taken: readonly Held[]): Promise<{ parts: Part[]; contextFiles: ContextFile[] }> {
    const parts: Part[] = [];
    const contextFiles: ContextFile[] = [];
    for (const held of taken) {
      if (held.kind === "image") parts.push(held.part);
      else {
        const text = held.text ?? (await read(held.uri));
        if (text === undefined) throw new Error(`${held.label} is not there any more. Take it away, and send again.`);
        contextFiles.push({ path: held.label, text });
      }
    }
    return { parts, contextFiles };
  }

  #id(): string {
    return `attached ${(this.#next += 1)}`;
  }
}
