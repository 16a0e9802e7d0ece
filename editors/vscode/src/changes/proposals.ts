// Code of answers proposed as changes of files: a diff in which each change is kept or undone. Nothing is written before it
// is kept.

import * as vscode from "vscode";
import { writeFile } from "../tools/edit.ts";
import { type Hunk, hunkAtLine, hunksOf, withKept, withUndone } from "./hunks.ts";

/** The scheme of a proposed text; with a query, of a file that is not there. The menus name it. */
const SCHEME = "threadhold-proposal";
const NOTHING = "nothing";
/** Stands before the path: the menus of files that the agent changed know those by their paths. */
const PREFIX = "/Proposed";

interface Proposal {
  /** Path in the folder. */
  path: string;
  folder: vscode.Uri;
  /** Text of the file that this is proposed for, with what was kept since. */
  base: string;
  text: string;
}

export class Proposals implements vscode.TextDocumentContentProvider, vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.#changed.event;
  /** By the address of the proposed text. */
  readonly #proposals = new Map<string, Proposal>();
  readonly #ends: vscode.Disposable[];

  constructor() {
    this.#ends = [
      this.#changed,
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
      // A diff that is closed without a decision was not wanted.
      vscode.workspace.onDidCloseTextDocument(({ uri }) => void this.#proposals.delete(uri.toString())),
    ];
  }

  dispose(): void {
    for (const end of this.#ends) end.dispose();
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.#proposals.get(uri.toString())?.text ?? "";
  }

  /** Opens the diff of a file to the text that is proposed for it, in place of what was proposed before. */
  async propose(path: string, text: string, folder: vscode.Uri): Promise<void> {
    const planned = await writeFile.preview({ path, text }, folder);
    const { uri, before, after, isNew } = planned;
    if (!isNew && before === after) throw new Error(`${planned.path} is as the code proposes already`);
    const right = addressOf(uri);
    this.#proposals.set(right.toString(), { path: planned.path, folder, base: before, text: after });
    this.#changed.fire(right);
    const left = isNew ? right.with({ query: NOTHING }) : uri;
    await vscode.commands.executeCommand("vscode.diff", left, right, `${planned.path} (Proposed by Agent)`);
  }

  /** True if a command is about a proposal: by the address that a menu names, else by the active editor. */
  isAt(given: unknown): boolean {
    return this.#at(given) !== undefined;
  }

  /** Writes the proposed text. */
  async keep(given: unknown): Promise<void> {
    const { key, proposal } = this.#expect(given);
    const { path, folder, base, text } = proposal;
    const { before } = await writeFile.preview({ path, text }, folder);
    if (before !== base)
      throw new Error(`${path} changed since this was proposed; keep the changes that the diff shows one by one, or apply the code again`);
    await this.#write(proposal, text);
    await this.#end(key);
  }

  /** Drops the proposal. */
  async undo(given: unknown): Promise<void> {
    await this.#end(this.#expect(given).key);
  }

  /** Writes one change into the file. */
  async keepHunk(): Promise<void> {
    const { key, proposal, hunk, now } = await this.#hunk();
    const kept = withKept(now, proposal.text, hunk);
    await this.#write(proposal, kept);
    await this.#rest(key, { ...proposal, base: kept }, kept);
  }

  /** Drops one change from what is proposed. */
  async undoHunk(): Promise<void> {
    const { key, proposal, hunk, now } = await this.#hunk();
    await this.#rest(key, { ...proposal, text: withUndone(now, proposal.text, hunk) }, now);
  }

  /** The change at the cursor, in the file as it is now. */
  async #hunk(): Promise<{ key: string; proposal: Proposal; hunk: Hunk; now: string }> {
    const { key, proposal } = this.#expect(undefined);
    const { before: now } = await writeFile.preview({ path: proposal.path, text: proposal.text }, proposal.folder);
    const line = vscode.window.activeTextEditor?.selection.active.line ?? 0;
    const hunk = hunkAtLine(hunksOf(now, proposal.text), line);
    if (hunk === undefined) throw new Error("there is no proposed change at the cursor");
    return { key, proposal, hunk, now };
  }

  async #write({ path, folder }: Proposal, text: string): Promise<void> {
    await writeFile.run({ path, text }, folder, new AbortController().signal, { hear: () => undefined });
  }

  /** Goes on with what is left of a proposal; ends it where nothing is. */
  async #rest(key: string, proposal: Proposal, now: string): Promise<void> {
    if (hunksOf(now, proposal.text).length === 0) return this.#end(key);
    this.#proposals.set(key, proposal);
    this.#changed.fire(vscode.Uri.parse(key, true));
  }

  async #end(key: string): Promise<void> {
    this.#proposals.delete(key);
    const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
    const mine = tabs.filter(({ input }) => input instanceof vscode.TabInputTextDiff && input.modified.toString() === key);
    if (mine.length > 0) await vscode.window.tabGroups.close(mine);
  }

  #at(given: unknown): { key: string; proposal: Proposal } | undefined {
    const uri = given instanceof vscode.Uri ? given : vscode.window.activeTextEditor?.document.uri;
    const key = uri?.toString() ?? "";
    const proposal = this.#proposals.get(key);
    return proposal && { key, proposal };
  }

  #expect(given: unknown): { key: string; proposal: Proposal } {
    const found = this.#at(given);
    if (found === undefined) throw new Error("this proposal is no longer there, so nothing was done");
    return found;
  }
}

function addressOf(uri: vscode.Uri): vscode.Uri {
  return vscode.Uri.from({ scheme: SCHEME, path: `${PREFIX}${uri.path}` });
}
