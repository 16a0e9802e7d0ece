// Diffs of the agent's changes in the editor: of one file, of all in the multi-diff editor, and of one edit that has ended.

import * as vscode from "vscode";
import type { BeforeImage, BeforeImages } from "../rewind/before-images.ts";
import { heldIn, standingOf, textOf, uriOf } from "../rewind/files.ts";
import { openDocument } from "../tools/text-file.ts";
import type { Entry, Tracker } from "./tracker.ts";

/** The scheme of the baseline of a file; with a query, of a file that is not there. */
const SCHEME = "threadhold-baseline";
const NOTHING = "nothing";
/** The scheme of a file before or after one edit. The menus of changed files do not name it. */
const OF_EDIT = "threadhold-ended-edit";

export class Views implements vscode.TextDocumentContentProvider, vscode.Disposable {
  readonly #tracker: Tracker;
  readonly #changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.#changed.event;
  /** Texts before and after edits that have ended, by query. */
  readonly #texts = new Map<string, string>();
  readonly #ends: vscode.Disposable[];

  constructor(tracker: Tracker) {
    this.#tracker = tracker;
    this.#ends = [
      this.#changed,
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
      vscode.workspace.registerTextDocumentContentProvider(OF_EDIT, this),
      tracker.onChange(() => {
        for (const { uri } of vscode.workspace.textDocuments) if (isBaseline(uri)) this.#changed.fire(uri);
      }),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => {
        if (uri.scheme === OF_EDIT) this.#texts.delete(uri.query);
      }),
    ];
  }

  dispose(): void {
    for (const end of this.#ends) end.dispose();
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    if (uri.scheme === OF_EDIT) return this.#texts.get(uri.query) ?? "";
    if (uri.query === NOTHING) return "";
    const file = uri.with({ scheme: "file" });
    // Once all is kept, the file is its own baseline.
    return this.#tracker.find(file)?.base ?? (await present(file));
  }

  /** Opens the diff of a file to its baseline. */
  async show({ uri, path, item, base }: Entry): Promise<void> {
    if (base === undefined) return void (await vscode.commands.executeCommand("vscode.open", uri));
    const title = { edited: "Changed by Agent", created: "Created by Agent", deleted: "Deleted by Agent" }[item.kind];
    const right = item.kind === "deleted" ? earlier(uri, NOTHING) : uri;
    await vscode.commands.executeCommand("vscode.diff", earlier(uri, item.kind === "created" ? NOTHING : ""), right, `${path} (${title})`);
  }

  /** Opens the diffs of all files in one editor. */
  async showAll(entries: readonly Entry[]): Promise<void> {
    const resources = entries.flatMap(({ uri, base, item }) =>
      base === undefined ? [] : [[uri, item.kind === "created" ? undefined : earlier(uri, ""), item.kind === "deleted" ? undefined : uri]],
    );
    if (resources.length === 0) return void vscode.window.showInformationMessage("There are no changes by the agent to show.");
    await vscode.commands.executeCommand("vscode.changes", "Changes by Agent", resources);
  }

  /** Opens the diff of one edit that has ended. `images` are all changes of the session. */
  async showEdit(image: BeforeImage, all: readonly BeforeImage[], images: BeforeImages, folder: vscode.Uri): Promise<void> {
    const { path, toolCallId, content, after, isNew } = image;
    const uri = uriOf(path, folder);
    const before = isNew ? "" : await this.#textBefore(image, images, folder);
    if (before === undefined)
      throw new Error(`the contents of ${path} before this edit are ${content === undefined ? "not kept" : "no longer kept"}`);
    const side = (name: "before" | "after", text: string): vscode.Uri => {
      const query = `${toolCallId}/${name}`;
      this.#texts.set(query, text);
      return uri.with({ scheme: OF_EDIT, query });
    };
    const left = side("before", before);
    const open = (right: vscode.Uri, title: string) => vscode.commands.executeCommand("vscode.diff", left, right, `${path} (${title})`);
    const { sha256, unsaved } = await standingOf(path, folder);
    if (sha256 === after && unsaved === undefined) return void (await open(uri, "Edited by Agent"));
    // The next change began from what this one left, if nobody else changed the file between them.
    const next = all.find((other) => other.path === path && after !== undefined && other.content === after);
    const text = next && (await this.#textBefore(next, images, folder));
    if (text === undefined) return void (await open(uri, "Before This Edit ↔ Now"));
    await open(side("after", text), "Edited by Agent");
  }

  async #textBefore(image: BeforeImage, images: BeforeImages, folder: vscode.Uri): Promise<string | undefined> {
    const bytes = await images.bytesOf(image);
    return bytes && textOf(image.path, bytes, folder);
  }
}

/** True for the baseline of a file, which stands in a diff beside it. */
export function isBaseline({ scheme, query }: vscode.Uri): boolean {
  return scheme === SCHEME && query === "";
}

function earlier(uri: vscode.Uri, query: string): vscode.Uri {
  return uri.with({ scheme: SCHEME, query });
}

async function present(uri: vscode.Uri): Promise<string> {
  const folder = vscode.workspace.getWorkspaceFolder(uri)?.uri ?? uri;
  const { content, unsaved } = await heldIn(uri.fsPath, folder);
  return openDocument(uri)?.getText() ?? unsaved ?? textOf(uri.fsPath, content, folder).catch(() => "");
}
