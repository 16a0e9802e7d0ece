// Attachments of the next request: files, selections, images. They last until it is sent.

import { basename } from "node:path";
import type { ContextFile, Part } from "@threadhold/client";
import * as vscode from "vscode";
import { errorText } from "../shared/text.ts";
import type { Attached } from "../shared/view.ts";
import { read } from "../tools/own-tool.ts";
import { type Picture, picture, readable } from "./attachment-content.ts";

export type PendingAttachment = Attached &
  (
    | { kind: "image"; source: string; part: Part }
    | { kind: "resource"; parts: readonly Part[] }
    | { kind: "file" | "selection"; uri: vscode.Uri; text?: string }
  );

export class Attachments {
  #held: PendingAttachment[] = [];
  #next = 0;

  get shown(): Attached[] {
    return this.#held.map(({ id, label, kind }) => ({ id, label, kind }));
  }

  /** Data URLs of attached images, by attachment id. */
  get pictures(): Map<string, string> {
    return new Map(this.#held.flatMap((held) => (held.kind === "image" ? [[held.id, held.source] as const] : [])));
  }

  /** Takes files in; pictures as pictures. Those that cannot go along are said, after the others were taken. */
  async addFiles(uris: readonly vscode.Uri[]): Promise<void> {
    const refused: string[] = [];
    for (const uri of uris) await this.#addFile(uri).catch((error: unknown) => refused.push(errorText(error)));
    if (refused.length > 0) throw new Error(refused.join("\n"));
  }

  async #addFile(uri: vscode.Uri): Promise<void> {
    const name = basename(uri.path);
    // What is no text is known now, and not when it is sent.
    const found = await readable(uri);
    if (found.kind === "folder")
      throw new Error(`${name} was not attached: it is a folder. Attach single files, or mention the folder in your message.`);
    if (found.kind === "picture") this.#addPicture(found.part, name);
    // It is read once it is sent, so a second one would say the same.
    else if (!this.#held.some((held) => held.kind === "file" && held.uri.toString() === uri.toString()))
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

  /** Takes a text about the folder under this name, and answers the attachment's id. */
  addText(folder: vscode.Uri, label: string, text: string): string {
    const id = this.#id();
    this.#held.push({ id, kind: "selection", label, uri: folder, text });
    return id;
  }

  /** Takes the content of a tool server's resource. */
  addResource(label: string, parts: readonly Part[]): void {
    this.#held.push({ id: this.#id(), kind: "resource", label, parts });
  }

  /** Takes a picture that was pasted or dropped; `data` is in base64. */
  addPicture(mimeType: string, data: string, name: string): void {
    this.#addPicture(picture(mimeType, Buffer.from(data, "base64"), name), name);
  }

  #addPicture(part: Picture, name: string): void {
    this.#held.push({ id: this.#id(), kind: "image", label: name, source: `data:${part.mimeType};base64,${part.data}`, part });
  }

  remove(id: string): void {
    this.#held = this.#held.filter((held) => held.id !== id);
  }

  /** Takes all of it out, for a request: whatever is attached from now on goes with the next one. */
  take(): PendingAttachment[] {
    return this.#held.splice(0);
  }

  /** Takes back the attachments of a request that could not be sent. */
  putBack(taken: readonly PendingAttachment[]): void {
    this.#held.unshift(...taken);
  }

  /** Resolves attachments for a request. Files are read now, including unsaved changes. */
  async contents(taken: readonly PendingAttachment[]): Promise<{ parts: Part[]; contextFiles: ContextFile[] }> {
    const parts: Part[] = [];
    const contextFiles: ContextFile[] = [];
    for (const held of taken) {
      if (held.kind === "image") parts.push(held.part);
      else if (held.kind === "resource") parts.push(...held.parts);
      else {
        const text = held.text ?? (await read(held.uri));
        if (text === undefined)
          throw new Error(`The attached file ${held.label} no longer exists. Remove the attachment, then send again.`);
        contextFiles.push({ path: held.label, text });
      }
    }
    return { parts, contextFiles };
  }

  #id(): string {
    this.#next += 1;
    return `attached ${this.#next}`;
  }
}
