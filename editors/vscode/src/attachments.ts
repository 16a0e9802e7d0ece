// What goes with the next request: files, selections, pictures. Only until it is sent.

import { basename } from "node:path";
import * as vscode from "vscode";
import type { ContextFile, Part } from "@threadhold/client";
import { type Picture, picture, readable } from "./given.ts";
import { read } from "./tools/own.ts";
import type { Attached } from "./view.ts";
import { wordsOf } from "./words.ts";

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
    for (const uri of uris) await this.#addFile(uri).catch((error: unknown) => refused.push(wordsOf(error)));
    if (refused.length > 0) throw new Error(refused.join("\n"));
  }

  async #addFile(uri: vscode.Uri): Promise<void> {
    const name = basename(uri.path);
    // What is no text is known now, and not when it is sent.
    const found = await readable(uri);
    if (found.kind === "folder") throw new Error(`${name} is a folder. Attach files of it, or name it in your words.`);
    if (found.kind === "picture") this.#addPicture(found.part, name);
    else this.#held.push({ id: this.#id(), kind: "file", label: vscode.workspace.asRelativePath(uri), uri });
  }

  /** Takes what is selected in an editor; the whole file where nothing is. */
  async addFrom({ document, selection }: vscode.TextEditor): Promise<void> {
    if (selection.isEmpty) return this.addFiles([document.uri]);
    const path = vscode.workspace.asRelativePath(document.uri);
    const label = `${path}:${selection.start.line + 1}-${selection.end.line + 1}`;
    this.#held.push({ id: this.#id(), kind: "selection", label, uri: document.uri, text: document.getText(selection) });
    return undefined;
  }

  /** Takes a picture that was pasted or dropped; `data` is in base64. */
  addPicture(mediaType: string, data: string, name: string): void {
    this.#addPicture(picture(mediaType, Buffer.from(data, "base64"), name), name);
  }

  #addPicture(part: Picture, name: string): void {
    this.#held.push({ id: this.#id(), kind: "image", label: name, source: `data:${part.mediaType};base64,${part.data}`, part });
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
